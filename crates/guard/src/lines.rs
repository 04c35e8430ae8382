//! What rules, keys and risk share about a call: which programs go out, and how much harm it may do.

use std::ops::Range;

use super::{
    Declared, DeclaredRisk, RiskContext, RiskLevel, assess_arguments,
    links::{Links, led_risk},
    names,
    policy::Subject,
    shell::{Options, SimpleCommand},
};

/// Programs whose words name hosts.
pub(crate) fn goes_out(program: &str) -> bool {
    names::has("programs.going_out", program)
}

/// Whether a command asks an address for what it has, and sends or writes nothing.
pub(crate) fn fetches(command: &SimpleCommand) -> bool {
    let options = Options::read(command.words.get(1..).unwrap_or_default(), "-m --max-time -A --user-agent --retry");
    let plain = |flag: &&str| {
        names::has("programs.fetching", flag)
            || !flag.starts_with("--") && flag.bytes().skip(1).all(|letter| b"sSLfiIkvg46#".contains(&letter))
    };
    command.known_program() == Some("curl")
        && options.flags.iter().all(plain)
        && options.equals.is_empty()
        && options.rest.iter().all(|word| word.exact && !word.text.contains('@'))
}

/// Whether a command only checks a workspace: it runs tests, a linter or a compiler, without an option that has it
/// change files.
pub(crate) fn checks(command: &SimpleCommand) -> bool {
    let Some(program) = command.known_program() else { return false };
    let words = command.words.get(1..).unwrap_or_default();
    let changing = names::list("programs.changing");
    let changes =
        |option: &str| changing.iter().any(|part| option == part || part.len() > 2 && option.contains(&**part));
    if words.iter().any(|word| word.text.starts_with('-') && changes(&word.text)) {
        return false;
    }
    let sub = words.iter().map(|word| word.text.as_str()).find(|text| !text.starts_with(['-', '+']));
    names::has("programs.checking", program)
        || sub.is_some_and(|sub| names::has("programs.checking", &format!("{program} {sub}")))
}

/// Programs whose bare words are files.
pub(crate) fn takes_files(program: &str) -> bool {
    names::has("programs.taking_files", program)
}

/// Options of those programs behind which a file or some text stands, not a host.
pub(crate) fn takes_no_host(option: &str) -> bool {
    names::has("programs.no_host", option)
}

/// What risk says of a call.
pub(crate) struct Assessed {
    pub(crate) level: RiskLevel,
    pub(crate) rule: String,
    pub(crate) part: Option<String>,
    pub(crate) span: Option<Range<usize>>,
    pub(crate) why: String,
    /// Whether something is gone for good by it, though its level says no more than cautious.
    pub(crate) loses: bool,
}

/// How much harm the call may do.
pub(crate) fn risk_of(subject: &Subject, declared: Declared, context: &RiskContext, links: &Links) -> Assessed {
    let tool = DeclaredRisk { level: declared.risk, by_arguments: declared.by_arguments };
    let mut risk = assess_arguments(&subject.tool, &subject.input, Some(tool), context);
    if let Some(led) = led_risk(subject, Some(tool), context, links) {
        risk = risk.or(led);
    }
    let loses = risk.loses();
    let (part, span) = risk.part.map_or((None, None), |part| (Some(part.text), Some(part.span)));
    Assessed { level: risk.level, rule: risk.rule.to_owned(), part, span, why: risk.why, loses }
}
