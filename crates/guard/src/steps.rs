//! The commands of a shell line as the fence wants them: what runs, what it names, and what the guard thinks of it.

use crate::{
    RiskLevel,
    policy::{Subject, Surroundings},
};

/// A command of a line, wherever it stands: in a pipe, a substitution, behind a wrapper, in code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStep {
    /// The program and its words.
    pub words: Vec<String>,
    /// The paths that it names for certain, absolute or from the workspace on.
    pub paths: Vec<String>,
    /// Whether it names hosts.
    pub hosts: bool,
    /// How much harm it may do.
    pub level: RiskLevel,
}

/// The commands of a line that runs in these surroundings.
pub fn steps(line: &str, around: &Surroundings) -> Vec<LineStep> {
    let input = serde_json::json!({ "command": line });
    let subject = Subject::new("shell", &input, around);
    let step = |part: &crate::policy::subject::Part| LineStep {
        words: part.words.iter().map(|word| word.text.clone()).collect(),
        paths: part.paths.iter().filter_map(|place| place.certain().map(str::to_owned)).collect(),
        hosts: !part.hosts.is_empty(),
        level: part.level,
    };
    subject.all().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_found_wherever_they_stand() {
        let found = steps(
            "cd sub && env A=1 git push; cat x | (curl -s https://a.example > /srv/y)",
            &Surroundings::of_examples(),
        );
        let of =
            |program: &str| found.iter().find(|step| step.words.first().is_some_and(|word| word == program)).unwrap();
        assert!(of("git").level > RiskLevel::Safe && of("curl").hosts);
        assert!(of("curl").paths.contains(&"/srv/y".to_owned()), "{found:?}");
        assert!(of("cat").paths.contains(&"/home/user/project/sub/x".to_owned()), "{found:?}");
    }

    #[test]
    fn steps_name_no_path_that_is_not_certain() {
        let found = steps("touch $WHERE/x ~/*.txt \"$(pwd)\"", &Surroundings::of_examples());
        assert!(found.iter().all(|step| step.paths.is_empty()), "{found:?}");
    }
}
