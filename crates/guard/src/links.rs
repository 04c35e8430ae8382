//! Where paths lead that are symbolic links. Which of them are links somebody else has looked up, on a disk, and says;
//! here they are followed as a system follows them, from the root on, and a call is judged again as what it reaches.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    DeclaredRisk, Risk, RiskContext, assess_arguments,
    paths::{below_variable, below_working_folder},
    policy::{
        Subject, Surroundings,
        subject::{looks_like_a_path, names_a_path},
    },
    risk::{is_command, nature, script_risk},
    shell::{self, Script, SimpleCommand, Word},
};

/// Links by their absolute paths, each with where it leads in the end; a variable that is known counts as a link in the
/// root, `/$NAME`.
pub type Links = BTreeMap<String, String>;

/// Paths of a call that are looked up.
const MOST_PATHS: usize = 256;

/// The paths that a call names, absolute and not shortened: what has to be looked up for
/// [`judge_led`](crate::judge_led).
pub fn named_paths(tool: &str, input: &Value, around: &Surroundings) -> Vec<String> {
    let subject = Subject::new(tool, input, around);
    let mut found: Vec<String> = Vec::new();
    for place in subject.all().flat_map(|part| part.paths.iter().chain(&part.writes)) {
        if let Some(path) = place.spelled()
            && found.len() < MOST_PATHS
            && !found.iter().any(|other| other == path)
        {
            found.push(path.to_owned());
        }
    }
    found
}

/// Whether [`named_paths`] finds any.
pub(crate) fn names_paths(subject: &Subject) -> bool {
    subject.all().any(|part| part.paths.iter().chain(&part.writes).any(|place| place.spelled().is_some()))
}

/// Where an absolute path leads, if a part of it is a link.
pub(crate) fn followed(path: &str, links: &Links) -> Option<String> {
    if links.is_empty() {
        return None;
    }
    // What a variable stands for may hold links itself.
    let of_variable = path.strip_prefix("/$").and_then(|named| {
        let (name, rest) = named.split_at(named.find('/').unwrap_or(named.len()));
        Some(format!("{}{rest}", links.get(&format!("/${name}"))?))
    });
    let (mut at, mut led) = (String::new(), of_variable.is_some());
    let path = of_variable.as_deref().unwrap_or(path);
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // The folder above where a link leads, not above the link.
            ".." => at.truncate(at.rfind('/').unwrap_or_default()),
            part => {
                at = format!("{at}/{part}");
                if let Some(target) = links.get(&at) {
                    target.trim_end_matches('/').clone_into(&mut at);
                    led = true;
                }
            }
        }
    }
    led.then(|| if at.is_empty() { "/".to_owned() } else { at })
}

/// What risk says of a call as what it reaches, if links change that.
pub(crate) fn led_risk(
    subject: &Subject,
    declared: Option<DeclaredRisk>,
    context: &RiskContext,
    links: &Links,
) -> Option<Risk> {
    if links.is_empty() {
        return None;
    }
    let mut led = Led { tool: &subject.tool, context, links, scripts: Vec::new(), any: false };
    let input = led.value("", "", &subject.input);
    let scripts = std::mem::take(&mut led.scripts);
    let other = led.any.then(|| assess_arguments(&subject.tool, &input, declared, context));
    other.into_iter().chain(scripts).reduce(Risk::or)
}

struct Led<'l> {
    tool: &'l str,
    context: &'l RiskContext,
    links: &'l Links,
    scripts: Vec<Risk>,
    any: bool,
}

impl Led<'_> {
    /// The arguments with paths that lead elsewhere put in; lines are judged on the way.
    fn value(&mut self, path: &str, key: &str, value: &Value) -> Value {
        // Depth is bounded by the parser of the arguments.
        match value {
            Value::String(text) if is_command(&key.to_ascii_lowercase(), &nature(self.tool)) => {
                self.script(path, text, shell::parse(text));
                value.clone()
            }
            Value::String(text) if (names_a_path(key) || looks_like_a_path(text)) && !text.contains("://") => {
                match self.real(text, None) {
                    Some(real) => {
                        self.any = true;
                        Value::String(real)
                    }
                    None => value.clone(),
                }
            }
            Value::Array(items) => {
                let words: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                if let Some(words) = words.filter(|_| is_command(&key.to_ascii_lowercase(), &nature(self.tool))) {
                    self.script(path, &words.join(" "), shell::parse_words(&words));
                    return value.clone();
                }
                let each = items.iter().enumerate().map(|(at, item)| self.value(&format!("{path}[{at}]"), key, item));
                Value::Array(each.collect())
            }
            Value::Object(members) => {
                let each = members.iter().map(|(name, member)| {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    (name.clone(), self.value(&path, name, member))
                });
                Value::Object(each.collect())
            }
            other => other.clone(),
        }
    }

    fn script(&mut self, path: &str, text: &str, mut script: Script) {
        let mut any = false;
        for command in &mut script.commands {
            any |= self.command(command);
        }
        if any {
            self.scripts.push(script_risk(&script, text, path, self.context));
        }
    }

    /// Puts what is reached in the place of the links that a command names.
    fn command(&self, command: &mut SimpleCommand) -> bool {
        let folder = command.cwd.clone();
        let mut any = false;
        let targets = command.redirects.iter_mut().map(|redirect| &mut redirect.target);
        for word in command.words.iter_mut().chain(targets) {
            let (start, path) = match word.text.split_once('=') {
                Some((name, value)) => (format!("{name}="), value.to_owned()),
                None if word.text.starts_with('-') => continue,
                None => (String::new(), word.text.clone()),
            };
            let signs = path.len() - path.trim_start_matches(['@', '<']).len();
            if let Some(real) = self.real(&path[signs..], folder.as_ref()).filter(|_| !path.contains("://")) {
                word.text = format!("{start}{}{real}", &path[..signs]);
                any = true;
            }
        }
        any
    }

    fn real(&self, path: &str, folder: Option<&Word>) -> Option<String> {
        if path.is_empty() || path.len() > 4_096 || path.contains('\n') {
            return None;
        }
        followed(&self.absolute(path, folder)?, self.links)
    }

    fn absolute(&self, path: &str, folder: Option<&Word>) -> Option<String> {
        let home = self.context.home.as_deref();
        let below = ["~", "$HOME", "${HOME}"].iter().find_map(|sign| path.strip_prefix(sign));
        if let Some(rest) = below.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Some(format!("{}{rest}", home?));
        }
        if path.starts_with('/') {
            return Some(path.to_owned());
        }
        let here = below_working_folder(path).map(|rest| format!(".{rest}"));
        let path = here.as_deref().unwrap_or(path);
        if path.starts_with(['$', '`', '~']) {
            return below_variable(path);
        }
        let base = self.context.cwd.as_deref().or(self.context.workspace.as_deref());
        let base = match folder {
            Some(folder) if !folder.exact => return None,
            Some(folder) => self.absolute(&folder.text, None)?,
            None => base?.to_owned(),
        };
        Some(format!("{base}/{path}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Authority, Declared, GuardConfig, Judgement, RiskLevel, judge, judge_led, policy::Verdict};

    fn links(pairs: &[(&str, &str)]) -> Links {
        pairs.iter().map(|(link, target)| ((*link).to_owned(), (*target).to_owned())).collect()
    }

    #[test]
    fn links_are_followed_as_a_system_does() {
        let links = links(&[("/w/out", "/etc"), ("/w/in", "/w/src"), ("/r", "/"), ("/$V", "/w/out")]);
        for (path, wanted) in [
            ("/w/out", Some("/etc")),
            ("/w/out/x/../y", Some("/etc/y")),
            ("/w/out/../x", Some("/x")),
            ("/w/a/../out/x", Some("/etc/x")),
            ("/w/in/a", Some("/w/src/a")),
            ("/w/outer", None),
            ("/w/x", None),
            ("/r", Some("/")),
            ("/r/etc", Some("/etc")),
            ("/$V/x", Some("/etc/x")),
            ("/$V", Some("/etc")),
            ("/$VV/x", None),
        ] {
            assert_eq!(followed(path, &links).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn a_call_is_judged_by_what_it_reaches() {
        let config = GuardConfig { around: Surroundings::of_examples(), ..GuardConfig::default() };
        let workspace = "/home/user/project";
        let links = links(&[
            (&format!("{workspace}/out"), "/etc"),
            (&format!("{workspace}/note"), "/home/user/.ssh/id_rsa"),
            (&format!("{workspace}/in"), &format!("{workspace}/src")),
            ("/$KEYS", "/home/user/.ssh"),
        ]);
        let declared = Declared { risk: RiskLevel::Cautious, by_arguments: true };
        let of = |tool: &str, input: &Value| {
            let plain = judge(&config, &Authority::default(), tool, input, declared);
            (plain, judge_led(&config, &Authority::default(), tool, input, declared, &links))
        };
        let line = |line: &str| of("shell", &json!({ "command": line }));
        for text in [
            "touch out/x",
            "cp a out/x",
            "echo a > out/x",
            "cat note",
            "cat < note",
            "cd out && touch x",
            "cd out && touch $PWD/x",
            "touch $PWD/out/x ${HOME}/a",
            "bash -c 'touch out/x'",
            "tee --append out/x",
            "cat in/../note",
        ] {
            let (plain, led) = line(text);
            assert_eq!((plain.verdict, led.verdict), (Verdict::Allow, Verdict::Ask), "{text}: {led:?}");
            assert!(led.why.contains("leads to"), "{text}: {}", led.why);
        }
        for text in ["touch in/x", "touch x", "cat in/a", "ls"] {
            let (plain, led) = line(text);
            assert_eq!(plain.verdict, led.verdict, "{text}");
        }
        for text in ["cat \"$KEYS/id_rsa\"", "cat ${KEYS}/id_rsa"] {
            let led = line(text).1;
            assert_eq!((led.verdict, led.risk), (Verdict::Ask, RiskLevel::Confirm), "{text}: {led:?}");
        }
        let (_, led) = line("rm -r $KEYS/old");
        assert!(led.touches.iter().any(|touched| touched.contains("$KEYS/old, which leads to /home/user/.ssh/old")));
        let (plain, led) = of("write_file", &json!({"path": "out/x", "content": ""}));
        assert_eq!((plain.verdict, led.verdict), (Verdict::Allow, Verdict::Ask), "{led:?}");
        assert!(led.touches.iter().any(|touched| touched.contains("out/x") && touched.contains("/etc/x")), "{led:?}");
        let named = named_paths("shell", &json!({"command": "cd out && cat ../a ~/b"}), &config.around);
        assert!(
            named.contains(&format!("{workspace}/out/../a")) && named.contains(&"/home/user/b".to_owned()),
            "{named:?}"
        );
    }

    #[test]
    fn a_judgement_says_whether_there_are_paths_to_look_up() {
        let config = GuardConfig { around: Surroundings::of_examples(), ..GuardConfig::default() };
        let declared = Declared { risk: RiskLevel::Cautious, by_arguments: true };
        for (tool, input, named) in [
            ("look", json!({"q": "weather in Rome"}), false),
            ("look", json!({"q": "src/a"}), true),
            ("look", json!({"file": "note"}), true),
            ("look", json!({"q": {"deep": [{"folder": "note"}]}}), true),
            ("look", json!({"q": "https://example.org/a"}), false),
            ("shell", json!({"command": "cat note"}), true),
            ("shell", json!({"command": "cat < $NOTES/a"}), true),
            ("shell", json!({"command": "bash -c 'touch a'"}), true),
            ("shell", json!({"command": "date"}), false),
            ("look", json!({}), false),
        ] {
            let judged = judge(&config, &Authority::default(), tool, &input, declared);
            assert_eq!(judged.names_paths, named, "{tool} {input}");
            assert_eq!(!named_paths(tool, &input, &config.around).is_empty(), named, "{tool} {input}");
            let read: Judgement = serde_json::from_value(json!(judged)).unwrap();
            assert!(read.names_paths, "of one that was written down nobody knows");
        }
    }

    #[test]
    fn rules_meet_a_link_by_both_of_its_names() {
        use crate::policy::{Policy, PolicySource, Tier};
        let text = |verdict: &str| {
            format!(
                "[[rule]]\nid = \"r\"\nverdict = \"{verdict}\"\npath = \"src\"\n\
                 examples.match = [\"src/a\"]\nexamples.no_match = [\"b\"]\n"
            )
        };
        let workspace = "/home/user/project";
        let links = links(&[
            (&format!("{workspace}/src/out"), "/srv/other"),
            (&format!("{workspace}/in"), &format!("{workspace}/src")),
        ]);
        let of = |verdict: &str, path: &str| {
            let source = PolicySource { tier: Tier::User, name: "r".into(), text: text(verdict) };
            let policy = Policy::of(vec![source]).unwrap();
            let config = GuardConfig { policy, around: Surroundings::of_examples(), ..GuardConfig::default() };
            let declared = Declared { risk: RiskLevel::Confirm, by_arguments: false };
            judge_led(&config, &Authority::default(), "read", &json!({ "path": path }), declared, &links).verdict
        };
        assert_eq!(of("forbid", "src/out/a"), Verdict::Forbid);
        assert_eq!(of("forbid", "in/a"), Verdict::Forbid);
        assert_eq!(of("allow", "src/a"), Verdict::Allow);
        assert_eq!(of("allow", "in/a"), Verdict::Allow);
        assert_eq!(of("allow", "src/out/a"), Verdict::Ask, "what is allowed is what is reached");
    }
}
