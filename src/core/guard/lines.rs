//! What rules, keys and risk share about a call: which argument holds a shell line, and how much harm it may do.

use std::ops::Range;

use serde_json::Value;

use super::{
    Declared, DeclaredRisk, RiskContext, RiskLevel, assess_arguments,
    policy::{Subject, Surroundings, subject::words_of},
};

/// The argument that holds a shell line, and the line.
pub(crate) fn shell_line(tool: &str, input: &Value) -> Option<(String, String)> {
    const ARGUMENTS: [&str; 8] =
        ["command", "cmd", "commands", "shell_command", "command_line", "bash", "shell", "cmdline"];
    const OF_SHELLS: [&str; 5] = ["script", "code", "input", "line", "text"];
    const SHELLS: [&str; 9] = ["shell", "bash", "sh", "zsh", "terminal", "exec", "execute", "command", "console"];
    let find = |names: &[&str]| {
        names.iter().find_map(|name| input.get(*name).and_then(line_of).map(|line| ((*name).to_owned(), line)))
    };
    find(&ARGUMENTS).or_else(|| {
        let shell = words_of(tool).any(|word| SHELLS.contains(&word.as_str()));
        shell.then(|| find(&OF_SHELLS)).flatten()
    })
}

/// A line, or the words of one command, or several lines.
fn line_of(value: &Value) -> Option<String> {
    match value {
        Value::String(line) => Some(line.clone()),
        Value::Array(items) if !items.is_empty() => {
            let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            Some(words?.into_iter().map(quoted).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:@%+,".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Programs whose words name hosts.
pub(crate) fn goes_out(program: &str) -> bool {
    const PROGRAMS: [&str; 22] = [
        "curl", "wget", "http", "https", "xh", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet", "ftp",
        "ping", "dig", "nslookup", "host", "socat", "openssl", "aria2c", "lynx",
    ];
    PROGRAMS.contains(&program)
}

/// What risk says of a call.
pub(crate) struct Assessed {
    pub(crate) level: RiskLevel,
    pub(crate) rule: String,
    pub(crate) part: Option<String>,
    pub(crate) span: Option<Range<usize>>,
    pub(crate) why: String,
}

/// How much harm the call may do.
pub(crate) fn risk_of(subject: &Subject, declared: Declared, around: &Surroundings) -> Assessed {
    let context =
        RiskContext { workspace: around.workspace.clone(), home: around.home.clone(), ..RiskContext::default() };
    let tool = DeclaredRisk { level: declared.risk, by_arguments: declared.by_arguments };
    let risk = assess_arguments(&subject.tool, &subject.input, Some(tool), &context);
    let (part, span) = risk.part.map_or((None, None), |part| (Some(part.text), Some(part.span)));
    Assessed { level: risk.level, rule: risk.rule.to_owned(), part, span, why: risk.why }
}
