//! Rendering of a report: Markdown, and HTML that needs nothing beside itself. Everything that comes from pages or
//! models is escaped.

use std::fmt::Write as _;

use super::{
    config::Style,
    report::{CitedStatement, Report, Section},
};

const RULES: &str =
    "Written by rules: quotes from the sources, chosen by their words (offline-extractive, not an LLM).";

/// The report as Markdown.
pub fn markdown(report: &Report, style: Style) -> String {
    let mut out = format!("# {}\n\n", plain(&report.title));
    if report.without_model {
        let _ = writeln!(out, "*{RULES}*\n");
    }
    if style == Style::Progress {
        progress(report, &mut out);
        return out;
    }
    if !report.r#abstract.is_empty() {
        let _ = writeln!(out, "## Abstract\n\n{}\n", joined(&report.r#abstract));
    }
    for section in report.sections.iter().filter(|section| !section.paragraphs.is_empty()) {
        if style == Style::Summary {
            continue;
        }
        let _ = writeln!(out, "## {}\n", plain(&section.topic));
        for paragraph in &section.paragraphs {
            let _ = writeln!(out, "{}\n", joined(paragraph));
        }
    }
    if style == Style::Summary {
        let lines: Vec<String> = report.sections.iter().filter_map(first).collect();
        if !lines.is_empty() {
            let _ = writeln!(out, "## Findings\n\n{}\n", lines.join("\n"));
        }
    }
    closing(report, &mut out);
    if !report.bibliography.is_empty() {
        out.push_str("## Sources\n\n");
        for one in &report.bibliography {
            let published = one.published.as_ref().map(|date| format!(" ({})", plain(date))).unwrap_or_default();
            let title = if one.title.is_empty() || one.title == one.url {
                String::new()
            } else {
                format!("{}. ", plain(&one.title))
            };
            let _ = writeln!(out, "{}. {title}{}{published}", one.number, address(&one.url));
        }
    }
    out
}

fn first(section: &Section) -> Option<String> {
    let line = section.paragraphs.first()?.first()?;
    Some(format!("- **{}**: {}", plain(&section.topic), escaped(&line.text)))
}

fn joined(lines: &[CitedStatement]) -> String {
    lines.iter().map(|line| escaped(&line.text)).collect::<Vec<_>>().join(" ")
}

fn closing(report: &Report, out: &mut String) {
    let _ = writeln!(out, "## About this research\n\nIt stopped because {}.\n", plain(&report.stopped.words));
    if !report.not_found.is_empty() {
        out.push_str("Not found:\n\n");
        for one in &report.not_found {
            let _ = writeln!(out, "- {}", plain(one));
        }
        out.push('\n');
    }
    if !report.contradictions.is_empty() {
        out.push_str("Sources that contradict each other:\n\n");
        for one in &report.contradictions {
            let _ = writeln!(
                out,
                "- {}: \u{201c}{}\u{201d}, but {}: \u{201c}{}\u{201d}",
                plain(&name(report, one.one.source)),
                plain(&one.one.text),
                plain(&name(report, one.other.source)),
                plain(&one.other.text)
            );
        }
        out.push('\n');
    }
    if !report.problems.is_empty() {
        out.push_str("Problems on the way:\n\n");
        for one in report.problems.iter().take(20) {
            let _ = writeln!(out, "- {}", plain(one));
        }
        out.push('\n');
    }
}

/// A source as the report names it: by its number where it is cited, else by its place.
fn name(report: &Report, source: usize) -> String {
    match report.bibliography.iter().find(|one| one.source == source) {
        Some(one) => format!("[{}]", one.number),
        None => format!("source {} (not cited)", source + 1),
    }
}

fn progress(report: &Report, out: &mut String) {
    let _ = writeln!(out, "{} sources read, {} queries.\n", report.sources_read, report.queries.len());
    out.push_str("| cycle | pages | chunks seen | kept | new claims | gain | coverage |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for one in &report.cycles {
        let gain = one.gain.map_or_else(|| "–".to_owned(), |gain| format!("{gain:.4}"));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {gain} | {:.3} |",
            one.cycle, one.pages, one.seen, one.accepted, one.claims, one.coverage
        );
    }
    out.push_str("\n## Queries\n\n");
    for one in &report.queries {
        let _ = writeln!(out, "- {} (cycle {}, {} hits, {} new)", plain(&one.query), one.cycle, one.hits, one.pages);
    }
    out.push('\n');
    closing(report, out);
}

/// Text of others in Markdown, escaped: nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let straight: String;
    let mut rest = text;
    if text.contains(turns) {
        straight = text.chars().filter(|c| !turns(*c)).collect();
        rest = &straight;
    }
    while let Some(at) = rest.find(['\\', '`', '*', '_', '<', '>', '[', ']', '#', '|', '!']) {
        let (before, special) = rest.split_at(at);
        out.push_str(before);
        let is_citation =
            special.strip_prefix('[').and_then(|inner| inner.split_once(']')).is_some_and(|(inner, after)| {
                !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit()) && !after.starts_with('(')
            });
        let length = if is_citation { special.find(']').map_or(1, |end| end + 1) } else { 1 };
        let (one, after) = special.split_at(length);
        let harmless = match one {
            "_" => before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric),
            "!" => !after.starts_with('['),
            "#" => !(out.is_empty() || out.ends_with('\n')),
            _ => is_citation,
        };
        if !harmless {
            out.push('\\');
        }
        out.push_str(one);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns whether a character turns the direction of what follows, beyond the text that it stands in.
const fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn plain(text: &str) -> String {
    escaped(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_web(url: &str) -> bool {
    let safe = !url.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"' | '`' | '\\'));
    safe && (url.starts_with("https://") || url.starts_with("http://"))
}

fn address(url: &str) -> String {
    if is_web(url) { format!("<{url}>") } else { plain(url) }
}

const STYLE: &str = ":root{color-scheme:light dark}body{max-width:46rem;margin:3rem auto;padding:0 1.2rem;color:#1d2129;background:#fdfdfc;\
font:17px/1.6 Georgia,'Times New Roman',serif;overflow-wrap:anywhere}h1,h2{font-family:system-ui,sans-serif;line-height:1.25}\
h1{font-size:1.9rem;margin-bottom:.3rem}h2{font-size:1.25rem;margin-top:2.2rem;border-bottom:1px solid #ddd;\
padding-bottom:.2rem}.by{color:#667;font:14px system-ui,sans-serif}.abstract{background:#f1f3f7;\
border-left:4px solid #6b7fa6;padding:.8rem 1.1rem;border-radius:0 6px 6px 0}.abstract p{margin:0}a{color:#2a5db0}.wide{overflow-x:auto}a.cite{text-decoration:none;\
color:#2a5db0;font-size:.8em;vertical-align:.25em}ol li{margin:.35rem 0}li:target,\
.sources li:target{background:#fff3c4}table{border-collapse:collapse;font:14px system-ui,sans-serif}td,th\
{border-bottom:1px solid #ddd;padding:.25rem .7rem;text-align:right}.closing{color:#444;font-size:.95em}\
@media(prefers-color-scheme:dark){body{background:#16181d;color:#dcdfe4}.abstract{background:#20242c}\
a,a.cite{color:#8ab4f8}.closing,.by{color:#a9b0bb}h2,td,th{border-color:#3a3f4a}li:target,.sources li:target\
{background:#4a4320}}@media print{body{max-width:none;margin:0;color:#000;background:none}.abstract{background:none;\
border-left-color:#000}a,a.cite{color:inherit}.closing,.by{color:#333}h1,h2{break-after:avoid}li,tr{break-inside:avoid}\
p{orphans:3;widows:3}}";

/// The report as one HTML page without scripts, fonts or pictures from elsewhere.
pub fn html(report: &Report, style: Style) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{0}</title><style>{STYLE}</style></head>\n<body><h1>{0}</h1>\n",
        text(&report.title)
    );
    let by = if report.without_model { RULES.to_owned() } else { format!("Written by {}.", report.model) };
    let _ = writeln!(
        out,
        "<p class=\"by\">{} {} sources read, {} cited.</p>",
        text(&by),
        report.sources_read,
        report.bibliography.len()
    );
    if style == Style::Progress {
        html_progress(report, &mut out);
    } else {
        if !report.r#abstract.is_empty() {
            let _ = writeln!(out, "<div class=\"abstract\"><p>{}</p></div>", html_lines(&report.r#abstract));
        }
        for section in report.sections.iter().filter(|section| !section.paragraphs.is_empty()) {
            let _ = writeln!(out, "<h2>{}</h2>", text(&section.topic));
            let most = if style == Style::Summary { 1 } else { usize::MAX };
            for paragraph in section.paragraphs.iter().take(most) {
                let lines = paragraph.get(..paragraph.len().min(most)).unwrap_or_default();
                let _ = writeln!(out, "<p>{}</p>", html_lines(lines));
            }
        }
    }
    html_closing(report, &mut out);
    if !report.bibliography.is_empty() {
        out.push_str("<h2>Sources</h2>\n<ol class=\"sources\">\n");
        for one in &report.bibliography {
            let shown = if one.title.is_empty() { &one.url } else { &one.title };
            let link = if is_web(&one.url) {
                format!("<a href=\"{}\" rel=\"noreferrer noopener\">{}</a>", text(&one.url), text(shown))
            } else {
                text(shown)
            };
            let place = if one.title.is_empty() || one.title == one.url {
                String::new()
            } else {
                format!(" <small>{}</small>", text(&one.url))
            };
            let date = one.published.as_ref().map(|date| format!(" ({})", text(date))).unwrap_or_default();
            let _ = writeln!(out, "<li id=\"s{}\" value=\"{}\">{link}{date}{place}</li>", one.number, one.number);
        }
        out.push_str("</ol>\n");
    }
    out.push_str("</body></html>\n");
    out
}

fn html_lines(lines: &[CitedStatement]) -> String {
    lines.iter().map(html_line).collect::<Vec<_>>().join(" ")
}

/// A statement; its citations lead to the sources.
fn html_line(line: &CitedStatement) -> String {
    let mut out = String::new();
    let mut rest = line.text.as_str();
    while let Some(open) = rest.find('[') {
        let (before, from) = rest.split_at(open);
        out.push_str(&text(before));
        let inside = from.get(1..).and_then(|inner| inner.split_once(']')).map(|(inside, _)| inside);
        let number =
            inside.and_then(|inside| inside.parse::<usize>().ok()).filter(|number| line.cites.contains(number));
        if let (Some(number), Some(inside)) = (number, inside) {
            // No line begins with a citation.
            if out.ends_with(' ') {
                out.pop();
                out.push('\u{a0}');
            }
            let _ = write!(out, "<a class=\"cite\" href=\"#s{number}\">[{number}]</a>");
            rest = from.get(inside.len() + 2..).unwrap_or_default();
        } else {
            out.push('[');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    out.push_str(&text(rest));
    out
}

fn html_closing(report: &Report, out: &mut String) {
    let _ = writeln!(
        out,
        "<div class=\"closing\"><h2>About this research</h2>\n<p>It stopped because {}.</p>",
        text(&report.stopped.words)
    );
    html_list("Not found", report.not_found.iter().map(|one| text(one)), out);
    let conflicts = report.contradictions.iter().map(|one| {
        format!(
            "{}: \u{201c}{}\u{201d}, but {}: \u{201c}{}\u{201d}",
            text(&name(report, one.one.source)),
            text(&one.one.text),
            text(&name(report, one.other.source)),
            text(&one.other.text)
        )
    });
    html_list("Sources that contradict each other", conflicts, out);
    html_list("Problems on the way", report.problems.iter().take(20).map(|one| text(one)), out);
    out.push_str("</div>\n");
}

fn html_list(title: &str, items: impl Iterator<Item = String>, out: &mut String) {
    let items: Vec<String> = items.map(|item| format!("<li>{item}</li>")).collect();
    if !items.is_empty() {
        let _ = writeln!(out, "<p>{title}:</p><ul>{}</ul>", items.join("\n"));
    }
}

fn html_progress(report: &Report, out: &mut String) {
    out.push_str("<div class=\"wide\"><table><tr><th>cycle</th><th>pages</th><th>chunks</th><th>kept</th><th>new claims</th><th>gain</th><th>coverage</th></tr>\n");
    for one in &report.cycles {
        let gain = one.gain.map_or_else(|| "–".to_owned(), |gain| format!("{gain:.4}"));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{gain}</td><td>{:.3}</td></tr>",
            one.cycle, one.pages, one.seen, one.accepted, one.claims, one.coverage
        );
    }
    out.push_str("</table></div>\n");
    html_list("Queries", report.queries.iter().map(|one| text(&one.query)), out);
}

/// Text in HTML.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' || turns(c) => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::research::report::{Reference, StopReport};

    #[test]
    fn b30_hostile_text_is_text_in_the_page_and_links_lead_to_the_web_alone() {
        let hostile = "</style><script>x()</script><img src=x onerror=x()> \"'& \u{202e}drow";
        let line = |text: &str| CitedStatement { text: text.to_owned(), cites: vec![1] };
        let source = |number: usize, url: &str| Reference {
            number,
            source: number,
            url: url.to_owned(),
            title: hostile.to_owned(),
            published: Some(hostile.to_owned()),
        };
        let report = Report {
            title: hostile.to_owned(),
            query: hostile.to_owned(),
            r#abstract: vec![line(hostile)],
            sections: vec![Section {
                topic: hostile.to_owned(),
                paragraphs: vec![vec![line("It holds [1][2](javascript:x()).")]],
                ..Section::default()
            }],
            bibliography: vec![
                source(1, "https://a.example/?q=\"><script>"),
                source(2, "javascript:x()"),
                source(3, "https://b.example/x?a=1&b=2"),
            ],
            stopped: StopReport { rule: "x".to_owned(), words: hostile.to_owned() },
            not_found: vec![hostile.to_owned()],
            problems: vec![hostile.to_owned()],
            model: hostile.to_owned(),
            ..Report::default()
        };
        for style in [Style::Detailed, Style::Summary, Style::Progress] {
            let page = html(&report, style);
            assert_eq!(page.matches("<script").count() + page.matches("<img").count(), 0, "{page}");
            assert_eq!(page.matches("</style>").count(), 1);
            let linked: Vec<&str> = page.split("href=\"").skip(1).filter_map(|after| after.split('"').next()).collect();
            assert!(
                linked.iter().all(|link| *link == "https://b.example/x?a=1&amp;b=2" || link.starts_with("#s")),
                "{linked:?}"
            );
            assert!(
                !page.contains('\u{202e}')
                    && page.contains("prefers-color-scheme:dark")
                    && page.contains("@media print")
            );
            let text = markdown(&report, style);
            assert!(!text.contains('\u{202e}') && !text.contains("\n<") && !text.contains(" <img"), "{text}");
        }
        assert!(html(&report, Style::Detailed).contains("<a class=\"cite\" href=\"#s1\">[1]</a>[2](javascript:x())"));
    }
}
