use proptest::prelude::*;

use super::*;

/// The commands as `program arguments`, unknown words in angle brackets.
fn commands(text: &str) -> Vec<String> {
    let shown = |word: &Word| if word.exact { word.text.clone() } else { format!("<{}>", word.text) };
    parse(text).commands.iter().map(|command| command.words.iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
}

fn has(text: &str, wanted: &str) {
    let found = commands(text);
    assert!(found.iter().any(|command| command == wanted), "{text:?} has no {wanted:?}: {found:#?}");
}

#[test]
fn quotes_and_escapes_are_taken_off() {
    for text in [
        "rm -rf /",
        "r''m -rf /",
        "\\rm -rf /",
        "\"rm\" '-rf' /",
        "$'\\x72m' -rf /",
        "r\\\nm -rf /",
        "rm \\\n  -rf \\\n /",
        "{rm,-rf,/}",
        "rm${IFS}-rf${IFS}/",
        "$'rm' -r\"f\" \"/\"",
    ] {
        assert_eq!(commands(text), ["rm -rf /"], "{text:?}");
    }
    assert_eq!(commands("ls /r{a,b}/{1..3}"), ["ls /ra/1 /ra/2 /ra/3 /rb/1 /rb/2 /rb/3"]);
    assert_eq!(commands("find . -name '*.c' {} '{a,b}'"), ["find . -name *.c {} {a,b}"]);
}

#[test]
fn variables_are_followed() {
    has("X=rm; $X -rf /", "rm -rf /");
    has("X='rm -rf'; $X /", "rm -rf /");
    has("a=r b=m; $a$b -rf /", "rm -rf /");
    has("export X=rm; Y=\"$X -rf\"; $Y /", "rm -rf /");
    has("A=(rm -rf /); \"${A[@]}\"", "rm -rf /");
    has("for d in /etc /home; do rm -rf $d; done", "rm -rf /etc");
    has("for d in /etc /home; do rm -rf $d; done", "rm -rf /home");
    has("$(echo rm) -rf /", "rm -rf /");
    has("`printf '%s' rm` -rf /", "rm -rf /");
    has("$(which rm) -rf /", "rm -rf /");
    has("if x; then X=rm; fi; $X -rf /", "<$X> -rf /");
    has("read X; $X -rf /", "<$X> -rf /");
    has("rm -rf ${DIR:-/}", "rm -rf </>");
    has("rm -rf \"${TMPDIR:-/tmp}/x\"", "rm -rf <$TMPDIR/x>");
    has("rm -rf ${HOME}/x ~/y", "rm -rf <$HOME/x> ~/y");
    has("x=ls; x=$(cat f); $x -la", "<$x> -la");
}

#[test]
fn commands_are_found_wherever_they_hide() {
    for text in [
        "true && rm -rf /",
        "a | rm -rf / | b",
        "(rm -rf /)",
        "{ rm -rf /; }",
        "echo $(rm -rf /)",
        "echo \"`rm -rf /`\"",
        "cat <(rm -rf /)",
        "if a; then rm -rf /; fi",
        "while rm -rf /; do :; done",
        "case x in a) rm -rf /;; esac",
        "f() { rm -rf /; }; f",
        "! rm -rf /",
        "rm -rf / &",
        "bash -c 'rm -rf /'",
        "bash -lc \"rm -rf /\"",
        "sh -c 'sh -c \"rm -rf /\"'",
        "eval 'rm -rf /'",
        "eval rm -rf /",
        "sudo rm -rf /",
        "sudo -u root -E rm -rf /",
        "sudo -n -- rm -rf /",
        "sudo FOO=1 rm -rf /",
        "env -i A=b rm -rf /",
        "env -S 'rm -rf /'",
        "nohup nice -n 5 rm -rf / &",
        "timeout -s KILL 5 rm -rf /",
        "command rm -rf /",
        "exec -a x rm -rf /",
        "xargs -0 rm -rf / < list || true; find . -exec rm -rf / \\;",
        "find . -name x -execdir sh -c 'rm -rf /' \\;",
        "echo / | xargs rm -rf",
        "echo 'rm -rf /' | sh",
        "echo 'rm -rf /' | sudo bash -s",
        "bash <<EOF\nrm -rf /\nEOF",
        "bash <<'EOF' | tee log\nrm -rf /\nEOF",
        "cat <<'EOF' | sh\nrm -rf /\nEOF",
        "bash <<< 'rm -rf /'",
        "trap 'rm -rf /' EXIT",
        "alias x='rm -rf /'",
        "su -c 'rm -rf /' bob",
        "su - bob -c 'rm -rf /'",
        "ssh -p 22 host rm -rf /",
        "ssh host 'cd / && rm -rf /'",
        "docker exec -it -u root web rm -rf /",
        "docker run --rm -v a:b alpine sh -c 'rm -rf /'",
        "docker compose exec web rm -rf /",
        "kubectl exec -n x pod -c y -- rm -rf /",
        "kubectl exec pod rm -rf /",
        "watch -n 1 'rm -rf /'",
        "parallel rm -rf ::: /",
        "script -qc 'rm -rf /' /dev/null",
        "busybox rm -rf /",
        "/usr/bin/env rm -rf /",
        "git submodule foreach 'rm -rf /'",
        "git -c alias.x='!rm -rf /' x",
        "tmux send-keys -t a 'rm -rf /' Enter",
        "time rm -rf /",
        "poetry run rm -rf /",
        "flock /tmp/l rm -rf /",
        "X=1 rm -rf / > log 2>&1",
        "cat <<EOF\n$(rm -rf /)\nEOF",
        "A=$(rm -rf /)",
        "export A=`rm -rf /`",
        "echo ${x:-$(rm -rf /)}",
        "[[ -n $(rm -rf /) ]]",
        "bash -c '\"$@\"' _ rm -rf /",
        "doas rm -rf /",
        "echo 'rm -rf /' | tee x > y; rm -rf /",
    ] {
        has(text, "rm -rf /");
        assert_eq!(parse(text).unparsed, None, "{text:?}");
    }
}

#[test]
fn data_is_no_command() {
    for text in [
        "echo 'rm -rf /'",
        "cat <<EOF\nrm -rf /\nEOF",
        "# rm -rf /",
        "git commit -m 'rm -rf /'",
        "grep 'rm -rf /' <<< 'rm -rf /'",
        "command -v rm",
        "cat > x.sh <<'EOF'\nrm -rf /\nEOF\nchmod +x x.sh",
    ] {
        let found = commands(text);
        assert!(!found.iter().any(|command| command.starts_with("rm")), "{text:?}: {found:?}");
        assert_eq!(parse(text).unparsed, None, "{text:?}");
    }
}

#[test]
fn redirections_belong_to_their_command() {
    use RedirectKind::{Append, Duplicate, Read, Write};
    let script = parse("a b > out 2>&1 < in >> log");
    let kinds: Vec<_> =
        script.commands[0].redirects.iter().map(|redirect| (redirect.kind, redirect.target.text.as_str())).collect();
    assert_eq!(kinds, [(Write, "out"), (Duplicate, "1"), (Read, "in"), (Append, "log")]);
    assert_eq!(parse("a | b > c").commands[1].redirects.len(), 1);
    assert_eq!(parse("> /etc/passwd").commands[0].redirects[0].target.text, "/etc/passwd");
    assert_eq!(parse("{ a; b; } > c").commands[2].redirects[0].target.text, "c");
    let here = parse("cat <<EOF > out.txt\nhi\nEOF\nls");
    assert_eq!(here.commands.len(), 2);
    assert!(
        here.commands[0].redirects.iter().any(|redirect| redirect.kind == Write && redirect.target.text == "out.txt")
    );
}

#[test]
fn folders_are_followed() {
    let cwd = |text: &str| parse(text).commands.last().and_then(|command| command.cwd.clone()).map(|word| word.text);
    assert_eq!(cwd("cd /tmp && rm -rf x").as_deref(), Some("/tmp"));
    assert_eq!(cwd("cd a; cd b; ls").as_deref(), Some("a/b"));
    assert_eq!(cwd("(cd /tmp; ls); ls"), None);
    assert_eq!(cwd("cd /tmp | ls; ls"), None);
    assert_eq!(cwd("if x; then cd /tmp; fi; ls").as_deref(), Some("?"));
    assert_eq!(cwd("bash -c 'cd /tmp'; ls"), None);
}

#[test]
fn spans_point_into_the_text() {
    let text = "ls; sudo sh -c 'rm -rf /'";
    let script = parse(text);
    let last = script.commands.last().unwrap();
    assert_eq!(&text[last.span.clone()], "'rm -rf /'");
    assert!(last.elevated);
    assert_eq!(last.via, Via::ShellText);
    let words = &parse("é rm 'ü' x").commands[0].words;
    assert_eq!(&"é rm 'ü' x"[words[2].span.clone()], "'ü'");
}

#[test]
fn what_cannot_be_read_is_said() {
    for text in [
        "rm 'x",
        "if true; then rm x",
        "rm x)",
        "( ( (",
        "$(",
        "cat <<EOF\nfoo $(",
        &"(".repeat(5000),
        &"x=(".repeat(8000),
        &"a|".repeat(8000),
    ] {
        assert!(parse(text).unparsed.is_some(), "{:?}", &text[..text.len().min(40)]);
    }
    let mut nested = "rm -rf /".to_owned();
    for _ in 0..12 {
        nested = format!("bash -c {}", shell_quoted(&nested));
    }
    assert!(parse(&nested).unparsed.is_some());
    assert!(parse(&"ls;".repeat(MAX_TEXT)).unparsed.is_some());
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn a_fork_bomb_is_seen() {
    assert!(parse(":(){ :|:& };:").fork_bomb.is_some());
    assert!(parse("bomb() { bomb | bomb & }; bomb").fork_bomb.is_some());
    assert!(parse("f() { g | h; }; f").fork_bomb.is_none());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}") {
        drop(parse(&text));
    }

    #[test]
    fn no_shell_like_text_makes_it_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "rm", " ", "-rf", "/", "'", "\"", "$", "(", ")", "{", "}", ",", "`", "\\", "\n", ";", "|", "&", "<", ">", "<<EOF", "EOF", "X=", "$X", "${", "bash -c ", "é", "\0", "*", "[", "]", "if ", "fi", "done", "case ", "$'\\x", "..", "#", "!", "=", "sudo ", "xargs ", "find . -exec ", "eval "
    ]), 0..40)) {
        let text = parts.concat();
        let script = parse(&text);
        for command in &script.commands {
            prop_assert!(text.get(command.span.clone()).is_some());
            for word in &command.words {
                prop_assert!(text.get(word.span.clone()).is_some(), "{word:?}");
            }
        }
    }
}
