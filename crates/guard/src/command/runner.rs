//! Programs that start another by its name: `python -m alembic`, `pnpm prisma`, `yarn run rimraf`, `cross-env A=1 x`.
//! What they start is judged as if it had been typed itself, and only what is asked about then counts.

use super::{Ground, Verdict, listing, program::program};
use crate::{
    RiskLevel, names,
    shell::{SimpleCommand, Word, basename},
};

/// What a command starts by its name, where it is asked about.
pub(super) fn handed_on(name: &str, command: &SimpleCommand, words: &[Word], ground: &Ground<'_>) -> Option<Verdict> {
    let rest = started(name, words).filter(|rest| !rest.is_empty())?;
    let Some(ground) = ground.deeper() else {
        listing::unread(ground);
        return Some(Verdict::new(
            RiskLevel::Confirm,
            "shell.unparsed",
            "hides too deep to be read",
            command.span.clone(),
        ));
    };
    let mut inner = SimpleCommand { words: rest.to_vec(), ..command.clone() };
    if let Some(first) = inner.words.first_mut() {
        match first.text.as_str() {
            "django" => "django-admin".clone_into(&mut first.text),
            "IPython" => "ipython".clone_into(&mut first.text),
            _ => {}
        }
    }
    listing::renamed(&inner, &ground);
    Some(program(&inner, &ground)).filter(|verdict| verdict.level >= RiskLevel::Confirm)
}

fn started<'w>(name: &str, words: &'w [Word]) -> Option<&'w [Word]> {
    match name {
        "python" | "python2" | "python3" | "pypy" | "pypy3" | "py" => {
            let at =
                words.iter().position(|word| !word.text.starts_with('-') || word.text == "-m" || word.text == "-c")?;
            if words.get(at)?.text == "-m" { words.get(at + 1..) } else { None }
        }
        "node" | "bun" | "tsx" | "ts-node" if words.first().is_some_and(|word| word.text.contains(".bin/")) => {
            Some(words)
        }
        "npm" | "pnpm" | "yarn" | "bun" => installed(words),
        "cross-env" | "cross-env-shell" | "env-cmd" | "dotenvx" => {
            let set = |word: &Word| word.text.contains('=') || word.text.starts_with('-') || word.text == "run";
            words.get(words.iter().position(|word| !set(word))?..)
        }
        _ => None,
    }
}

/// `--filter api prisma …`, `workspace api prisma …`, `run prisma -- …`.
fn installed(words: &[Word]) -> Option<&[Word]> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match word.text.as_str() {
            "--filter" | "-F" | "--cwd" | "-C" | "--dir" | "--prefix" | "-w" | "--workspace" | "workspace" => at += 2,
            "run" | "run-script" | "x" | "-r" | "--recursive" | "--silent" | "-s" | "--bun" | "workspaces"
            | "foreach" | "-A" | "-ws" => at += 1,
            option if option.starts_with("--") && option.contains('=') => at += 1,
            _ => break,
        }
    }
    let rest = words.get(at..)?;
    names::has("programs.installed", basename(&rest.first()?.text)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str, line: &str) -> Option<String> {
        let words: Vec<Word> = line
            .split(' ')
            .map(|text| Word { text: text.to_owned(), exact: true, span: 0..0, ..Word::default() })
            .collect();
        started(name, &words).map(|rest| rest.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_is_started_by_its_name_is_told() {
        assert_eq!(names("python3", "-u -m alembic downgrade base").as_deref(), Some("alembic downgrade base"));
        assert_eq!(names("python3", "manage.py -m x"), None);
        assert_eq!(names("python3", "-c x -m y"), None);
        assert_eq!(names("pnpm", "--filter api prisma x").as_deref(), Some("prisma x"));
        assert_eq!(names("yarn", "workspace api run rimraf src").as_deref(), Some("rimraf src"));
        assert_eq!(names("yarn", "add prisma"), None);
        assert_eq!(names("cross-env", "A=1 B=2 rimraf src").as_deref(), Some("rimraf src"));
    }
}
