//! What rules, keys and risk share about a call: which programs go out, and how much harm it may do.

use std::ops::Range;

use super::{
    Declared, DeclaredRisk, RiskContext, RiskLevel, assess_arguments,
    policy::{Subject, Surroundings},
};

/// Programs whose words name hosts.
pub(crate) fn goes_out(program: &str) -> bool {
    const PROGRAMS: [&str; 22] = [
        "curl", "wget", "http", "https", "xh", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet", "ftp",
        "ping", "dig", "nslookup", "host", "socat", "openssl", "aria2c", "lynx",
    ];
    PROGRAMS.contains(&program)
}

/// Options of those programs behind which a file or some text stands, not a host.
pub(crate) fn takes_no_host(option: &str) -> bool {
    const OPTIONS: [&str; 30] = [
        "-o",
        "--output",
        "-O",
        "--output-document",
        "--output-dir",
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "-H",
        "--header",
        "-F",
        "--form",
        "-T",
        "--upload-file",
        "-K",
        "--config",
        "-b",
        "--cookie",
        "-c",
        "--cookie-jar",
        "-E",
        "--cert",
        "--key",
        "--cacert",
        "-i",
        "-A",
        "--user-agent",
        "-P",
    ];
    OPTIONS.contains(&option)
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
    // A shell's line says all there is to know.
    let told = declared.by_arguments && !subject.lines.is_empty();
    let level = if told { RiskLevel::Safe } else { declared.risk };
    let risk = assess_arguments(&subject.tool, &subject.input, Some(DeclaredRisk { level }), &context);
    if told && risk.part.is_none() {
        return Assessed {
            level: risk.level,
            rule: "shell.safe".to_owned(),
            part: None,
            span: None,
            why: "Nothing in the line changes anything.".to_owned(),
        };
    }
    Assessed {
        level: risk.level,
        rule: risk.rule.to_owned(),
        span: risk.part.as_ref().map(|part| part.span.clone()),
        part: risk.part.map(|part| part.text),
        why: risk.why,
    }
}
