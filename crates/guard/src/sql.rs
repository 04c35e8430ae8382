//! SQL that destroys: `DROP`, `TRUNCATE`, `ALTER … DROP`, and `DELETE` or `UPDATE` that spare no row.
//!
//! The text is cut into tokens first, so that strings, comments and names in quotes are never taken for statements.

use std::ops::Range;

use super::{RiskLevel, names, sensitivity::is_secret_name};

/// What was found: the rule, its level and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) rule: &'static str,
    pub(super) level: RiskLevel,
    pub(super) why: &'static str,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Token<'t> {
    Word(&'t str),
    Text(&'t str),
    Number(&'t str),
    Sign(u8),
}

fn tokens(text: &str) -> Vec<(Token<'_>, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let find = |sign: &[u8], from: usize| {
            memchr::memmem::find(rest.get(from..).unwrap_or_default(), sign)
                .map_or(rest.len(), |end| end + from + sign.len())
        };
        let length = match byte {
            b'-' if rest.starts_with(b"--") => find(b"\n", 2),
            b'#' => find(b"\n", 1),
            b'/' if rest.starts_with(b"/*!") => {
                // MySQL runs what is in there.
                at += 3 + rest.iter().skip(3).take_while(|byte| byte.is_ascii_digit()).count();
                continue;
            }
            b'/' if rest.starts_with(b"/*") => find(b"*/", 2),
            b'\'' | b'"' | b'`' => {
                let mut end = 1;
                loop {
                    end = find(&[byte], end);
                    if rest.get(end) != Some(&byte) {
                        break;
                    }
                    end += 1;
                }
                let inner = text.get(at + 1..at + end.saturating_sub(1).max(1)).unwrap_or_default();
                let token = if byte == b'\'' { Token::Text(inner) } else { Token::Word("\"") };
                found.push((token, at..at + end));
                end
            }
            b'[' if rest.get(1).is_some_and(u8::is_ascii_alphabetic) => {
                let end = find(b"]", 1);
                found.push((Token::Word("\""), at..at + end));
                end
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii() => {
                let is_name =
                    |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'_' | b'$') || !byte.is_ascii();
                let end = rest.iter().take_while(is_name).count();
                found.push((Token::Word(text.get(at..at + end).unwrap_or_default()), at..at + end));
                end
            }
            byte if byte.is_ascii_digit() => {
                let end = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'.').count();
                found.push((Token::Number(text.get(at..at + end).unwrap_or_default()), at..at + end));
                end
            }
            byte if byte.is_ascii_whitespace() => 1,
            byte => {
                found.push((Token::Sign(byte), at..at + 1));
                1
            }
        };
        at += length.max(1);
    }
    found
}

/// The worst that the statements of `text` do.
pub(super) fn judge(text: &str) -> Option<Found> {
    let tokens = tokens(text);
    let mut worst: Option<Found> = None;
    for statement in tokens.split(|(token, _)| *token == Token::Sign(b';')) {
        if let Some(found) = statement_of(statement)
            && worst.as_ref().is_none_or(|worst| worst.level < found.level)
        {
            worst = Some(found);
        }
    }
    worst
}

/// Whether a text within a statement begins with a verb that destroys.
fn judge_plain(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    ["DROP", "TRUNCATE"].iter().any(|verb| first.eq_ignore_ascii_case(verb)) && !second.is_empty()
        || first.eq_ignore_ascii_case("DELETE") && !text.to_ascii_uppercase().contains("WHERE")
}

/// Whether a text is a statement that puts in or makes something and nothing that a shell would do something about:
/// `INSERT INTO logs VALUES (1)`.
pub(super) fn is_whole(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is = |word: &str, list: &[&str]| list.iter().any(|one| word.eq_ignore_ascii_case(one));
    let begins = is(first, &["INSERT"]) && is(second, &["INTO"])
        || is(first, &["CREATE"]) && is(second, &["TABLE", "INDEX", "VIEW", "UNIQUE", "TEMPORARY"])
        || is(first, &["SELECT"]) && words.any(|word| is(word, &["FROM"]));
    begins && !text.contains(['$', '`', '|', '&', '>', '<', '\\']) && judge(text).is_none()
}

/// Whether a text is known to do no more than ask a database, and to ask for nothing that opens doors: statements that
/// select, count and explain, by functions that are known, of columns that are named. What lists the tables in the own
/// words of a client (`\d`, `.tables`) counts, too.
pub(super) fn reads(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';');
    let plain = |rest: &str| rest.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '.' | '+'));
    let own = text.split(' ').next().unwrap_or_default();
    if own.starts_with("\\d") || matches!(own, "\\l" | "\\l+") {
        return plain(&text[1..]);
    }
    if names::has("sql.client", own) {
        return plain(text);
    }
    let tokens = tokens(text);
    !tokens.is_empty() && tokens.split(|(token, _)| *token == Token::Sign(b';')).all(statement_reads)
}

fn statement_reads(statement: &[(Token<'_>, Range<usize>)]) -> bool {
    let at = |at: usize| statement.get(at).map(|(token, _)| *token);
    let held = |word: &str, list: &str| names::has(list, &word.to_ascii_lowercase());
    let is = |token: Option<Token<'_>>, list| matches!(token, Some(Token::Word(word)) if held(word, list));
    if !is(at(0), "sql.beginning") {
        return false;
    }
    let explains = matches!(at(0), Some(Token::Word(word)) if word.eq_ignore_ascii_case("EXPLAIN"));
    let shows_rows = !explains || statement.iter().any(|(token, _)| is(Some(*token), "sql.running"));
    statement.iter().enumerate().all(|(place, (token, _))| match token {
        Token::Word(word) => {
            let lower = word.to_ascii_lowercase();
            let calls = at(place + 1) == Some(Token::Sign(b'('));
            let of_schema = place.checked_sub(1).and_then(at) == Some(Token::Sign(b'.'));
            !names::has("sql.acting", &lower)
                && !is_secret_name(&word.to_ascii_uppercase())
                && (!calls || names::has("sql.reading", &lower) && !of_schema)
        }
        Token::Sign(b'*') => {
            let before = place.checked_sub(1).and_then(at);
            let all = is(before, "sql.before_all") || matches!(before, Some(Token::Sign(b'.' | b',')));
            !all || !shows_rows
        }
        Token::Sign(sign) => b"(),.=<>+-/%|!~:".contains(sign),
        Token::Text(_) | Token::Number(_) => true,
    })
}

/// Whether the text begins as SQL does.
pub(super) fn looks_like(text: &str) -> bool {
    let mut words = tokens(text)
        .into_iter()
        .filter_map(|(token, _)| if let Token::Word(word) = token { Some(word.to_ascii_uppercase()) } else { None });
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match first.as_str() {
        "DROP" => matches!(
            second.as_str(),
            "TABLE"
                | "DATABASE"
                | "SCHEMA"
                | "INDEX"
                | "VIEW"
                | "USER"
                | "ROLE"
                | "COLUMN"
                | "KEYSPACE"
                | "MATERIALIZED"
                | "FUNCTION"
                | "TRIGGER"
                | "OWNED"
                | "SEQUENCE"
                | "EXTENSION"
                | "POLICY"
                | "TYPE"
                | "DOMAIN"
                | "PROCEDURE"
                | "EVENT"
                | "TABLESPACE"
                | "PUBLICATION"
                | "SUBSCRIPTION"
        ),
        // `GRANT ALL ON t TO x`, `REVOKE SELECT ON t FROM x`, `GRANT admin TO x`
        "GRANT" | "REVOKE" => {
            let end = if first == "GRANT" { "TO" } else { "FROM" };
            !second.is_empty() && words.any(|word| word == end)
        }
        "TRUNCATE" => {
            matches!(second.as_str(), "TABLE" | "ONLY")
                || words.next().is_none_or(|third| matches!(third.as_str(), "CASCADE" | "RESTART"))
        }
        "DELETE" => second == "FROM",
        "UPDATE" => {
            words.next().is_some_and(|third| third == "SET" || third == "AS")
                || words.next().is_some_and(|word| word == "SET")
        }
        "ALTER" => matches!(second.as_str(), "TABLE" | "DATABASE" | "SCHEMA"),
        _ => false,
    }
}

fn statement_of(statement: &[(Token<'_>, Range<usize>)]) -> Option<Found> {
    let word = |at: usize| match statement.get(at) {
        Some((Token::Word(word), _)) => Some(word.to_ascii_uppercase()),
        _ => None,
    };
    let first = word(0).unwrap_or_default();
    let span = |from: usize| {
        let start = statement.get(from).map_or(0, |(_, span)| span.start);
        start..statement.last().map_or(start, |(_, span)| span.end)
    };
    let found = |rule, level, why, at| Some(Found { rule, level, why, span: span(at) });
    let mut start = 0;
    if first == "EXPLAIN" {
        if !(1..=4).any(|at| word(at).is_some_and(|word| word.starts_with("ANALY"))) {
            return None;
        }
        start = 1;
    }
    // A statement may stand inside of another: `WITH gone AS (DELETE …)`, `BEGIN DELETE …`, `… THEN DROP …`.
    let begins = |at: usize| {
        at == start
            || matches!(statement.get(at.wrapping_sub(1)), Some((Token::Sign(b'(' | b')' | b'!' | b'.'), _)))
            || word(at.wrapping_sub(1)).is_some_and(|before| {
                matches!(
                    before.as_str(),
                    "BEGIN" | "THEN" | "DO" | "AS" | "ELSE" | "ANALYZE" | "VERBOSE" | "GO" | "LOOP"
                )
            })
            || statement.first().is_some_and(|(token, _)| *token == Token::Sign(b'\\'))
    };
    let mut worst: Option<Found> = functions(statement);
    let mut looks = 0;
    let mut depth = 0_usize;
    for at in 0..statement.len() {
        match statement[at].0 {
            Token::Sign(b'(') => depth += 1,
            Token::Sign(b')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        // `EXECUTE 'DROP TABLE t'`: a statement in a text.
        if let Token::Text(inner) = statement[at].0
            && (1..=3).any(|back| {
                word(at.wrapping_sub(back))
                    .is_some_and(|verb| matches!(verb.as_str(), "EXECUTE" | "EXEC" | "SP_EXECUTESQL" | "IMMEDIATE"))
            })
            && judge_plain(inner)
        {
            return found("sql.execute", RiskLevel::Confirm, "runs a statement that destroys", at);
        }
        let Some(verb) = word(at).filter(|_| begins(at)) else { continue };
        // A statement with so many statements in it is no longer one that somebody wrote.
        looks += 1;
        if looks > MOST_VERBS {
            return found("sql.unread", RiskLevel::Confirm, "holds more than is looked at", at);
        }
        let next = word(at + 1).unwrap_or_default();
        let here = match verb.as_str() {
            "DROP" => match next.as_str() {
                "DATABASE" | "SCHEMA" | "KEYSPACE" | "TABLESPACE" | "CATALOG" | "OWNED" => {
                    found("sql.drop.database", RiskLevel::Dangerous, "drops a whole database or schema", at)
                }
                "" | "\"" => None,
                _ => found("sql.drop", RiskLevel::Confirm, "drops what is in the database", at),
            },
            "DETACH"
                if statement[at..].iter().any(
                    |(token, _)| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("PERMANENTLY")),
                ) =>
            {
                found("sql.drop", RiskLevel::Confirm, "takes a table away for good", at)
            }
            "TRUNCATE" if !next.is_empty() => found("sql.truncate", RiskLevel::Confirm, "empties a table", at),
            "DELETE" if next == "FROM" || next == "TOP" || first == "DELETE" => {
                if spares_rows(&statement[at..]) {
                    None
                } else {
                    found("sql.delete.all", RiskLevel::Confirm, "deletes every row of a table", at)
                }
            }
            "UPDATE"
                if statement[at..]
                    .iter()
                    .any(|(token, _)| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("SET"))) =>
            {
                if spares_rows(&statement[at..]) {
                    None
                } else {
                    found("sql.update.all", RiskLevel::Confirm, "changes every row of a table", at)
                }
            }
            "ALTER" => {
                let has = |wanted: &str| {
                    statement[at..]
                        .iter()
                        .position(|(token, _)| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(wanted)))
                };
                // ClickHouse: `ALTER TABLE t DELETE WHERE 1`.
                let every = has("DELETE").is_some_and(|from| {
                    word(at + 1).as_deref() == Some("TABLE") && from <= 6 && !spares_rows(&statement[at + from..])
                });
                if every {
                    found("sql.delete.all", RiskLevel::Confirm, "deletes every row of a table", at)
                } else if has("DROP").is_some() {
                    found("sql.alter.drop", RiskLevel::Confirm, "drops a part of a table", at)
                } else if matches!(next.as_str(), "USER" | "ROLE" | "LOGIN")
                    && has_word(&statement[at..], &["PASSWORD", "IDENTIFIED"])
                {
                    found("sql.rights", RiskLevel::Confirm, "changes who may log in", at)
                } else {
                    None
                }
            }
            // The language of graphs: `MATCH (n) DETACH DELETE n`.
            "MATCH" | "OPTIONAL" if at == 0 => {
                let words: Vec<String> = statement
                    .iter()
                    .filter_map(
                        |(token, _)| if let Token::Word(word) = token { Some(word.to_ascii_uppercase()) } else { None },
                    )
                    .collect();
                let deletes = words.iter().any(|word| word == "DELETE");
                let narrowed = words.iter().any(|word| word == "WHERE")
                    || statement.iter().any(|(token, _)| *token == Token::Sign(b'{'));
                if deletes && !narrowed {
                    found("sql.delete.all", RiskLevel::Confirm, "deletes every node that fits", at)
                } else {
                    None
                }
            }
            "PURGE" | "FLUSHALL" | "FLUSHDB" if at == 0 => {
                found("sql.purge", RiskLevel::Confirm, "throws data away", at)
            }
            // `GRANT ALL ON *.* TO x`, `GRANT … WITH GRANT OPTION`: all there is, or the right to hand it on.
            "GRANT"
                if at == 0
                    && (has_word(&statement[at..], &["OPTION", "SUPER", "SUPERUSER"])
                        || next == "ALL"
                            && (statement.windows(3).any(|three| {
                                three.iter().map(|(token, _)| *token).eq([
                                    Token::Sign(b'*'),
                                    Token::Sign(b'.'),
                                    Token::Sign(b'*'),
                                ])
                            }) || has_word(&statement[at..], &["PUBLIC"]))) =>
            {
                found("sql.rights", RiskLevel::Confirm, "gives somebody every right", at)
            }
            "REVOKE" if at == 0 => found("sql.rights", RiskLevel::Confirm, "takes rights away", at),
            "KILL"
                // `KILL 12`, `KILL QUERY 12`, `KILL shop`: of a server's or a pool's, one word or two and no more.
                if at == 0
                    && (matches!(statement.get(1), Some((Token::Number(_), _)))
                        || matches!(next.as_str(), "QUERY" | "CONNECTION" | "HARD" | "SOFT" | "MUTATION")
                        || statement.len() <= 2) =>
            {
                found("sql.kill", RiskLevel::Confirm, "ends what others do in a database", at)
            }
            "CREATE" if next == "OR" && word(at + 3).as_deref() == Some("TABLE") => {
                found("sql.replace", RiskLevel::Confirm, "puts a new table where one may be", at)
            }
            "INSERT" if next == "OVERWRITE" => {
                found("sql.replace", RiskLevel::Confirm, "replaces what is in a table", at)
            }
            "COPY" if at == start && has_word(&statement[at..], &["PROGRAM"]) => {
                found("sql.program", RiskLevel::Confirm, "runs a program on the database's machine", at)
            }
            "SHUTDOWN" if at == 0 => found("sql.shutdown", RiskLevel::Confirm, "stops the database", at),
            _ => None,
        };
        if let Some(here) = here
            && worst.as_ref().is_none_or(|worst| worst.level < here.level)
        {
            worst = Some(here);
        }
    }
    worst
}

fn has_word(statement: &[(Token<'_>, Range<usize>)], wanted: &[&str]) -> bool {
    statement
        .iter()
        .any(|(token, _)| matches!(token, Token::Word(word) if wanted.iter().any(|one| word.eq_ignore_ascii_case(one))))
}

/// Functions and procedures that do more than to compute.
fn functions(statement: &[(Token<'_>, Range<usize>)]) -> Option<Found> {
    const ENDS: &[&str] = &[
        "pg_terminate_backend",
        "pg_drop_replication_slot",
        "pg_drop_replication_origin",
        "pg_file_unlink",
        "lo_unlink",
        "xp_cmdshell",
        "sys_exec",
        "sys_eval",
    ];
    let first =
        statement.first().and_then(|(token, _)| if let Token::Word(word) = token { Some(*word) } else { None })?;
    let runs = ["SELECT", "PERFORM", "CALL", "EXEC", "EXECUTE", "DO", "WITH"];
    if !runs.iter().any(|verb| first.eq_ignore_ascii_case(verb)) {
        return None;
    }
    let (at, (_, span)) = statement.iter().enumerate().find(|(at, (token, _))| {
        let named = matches!(token, Token::Word(word) if ENDS.iter().any(|name| word.eq_ignore_ascii_case(name)));
        let called = matches!(statement.get(at + 1), Some((Token::Sign(b'('), _)))
            || first.len() >= 4 && first[..4].eq_ignore_ascii_case("exec");
        named && called
    })?;
    let end = statement.get(at..).and_then(<[_]>::last).map_or(span.end, |(_, last)| last.end);
    Some(Found {
        rule: "sql.function",
        level: RiskLevel::Confirm,
        why: "calls what ends, deletes or runs something on the database's machine",
        span: span.start..end,
    })
}

/// Statements within one statement.
const MOST_VERBS: usize = 256;

/// Whether a `WHERE` leaves some rows alone.
fn spares_rows(statement: &[(Token<'_>, Range<usize>)]) -> bool {
    let mut depth = 0_i32;
    for (at, (token, _)) in statement.iter().enumerate() {
        match token {
            Token::Sign(b'(') => depth += 1,
            Token::Sign(b')') => {
                depth -= 1;
                if depth < 0 {
                    return false;
                }
            }
            Token::Word(word) if depth == 0 && word.eq_ignore_ascii_case("WHERE") => {
                return !always_true(&statement[at + 1..]);
            }
            _ => {}
        }
    }
    false
}

fn always_true(condition: &[(Token<'_>, Range<usize>)]) -> bool {
    let tokens: Vec<Token<'_>> =
        condition.iter().map(|(token, _)| *token).filter(|token| !matches!(token, Token::Sign(b'(' | b')'))).collect();
    let truth = |part: &[Token<'_>]| match part {
        [Token::Word(word)] => word.eq_ignore_ascii_case("TRUE"),
        [Token::Number(number)] => *number != "0",
        [a, Token::Sign(b'='), b] => a == b,
        [a, Token::Sign(b'<' | b'>'), Token::Sign(b'>' | b'='), b]
        | [a, Token::Sign(b'<' | b'>'), b]
        | [a, Token::Sign(b'!'), Token::Sign(b'='), b] => {
            a != b && matches!((a, b), (Token::Number(_), Token::Number(_)) | (Token::Text(_), Token::Text(_)))
        }
        [a, Token::Word(like), Token::Text("%")] => like.eq_ignore_ascii_case("LIKE") && matches!(a, Token::Word(_)),
        _ => false,
    };
    let end = tokens
        .iter()
        .position(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("RETURNING") || word.eq_ignore_ascii_case("LIMIT")))
        .unwrap_or(tokens.len());
    let is = |token: &Token<'_>, wanted: &str| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(wanted));
    tokens[..end]
        .split(|token| is(token, "OR"))
        .any(|part| !part.is_empty() && part.split(|token| is(token, "AND")).all(truth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_destroys_is_found() {
        for text in [
            "DROP TABLE users",
            "drop database if exists x",
            "SELECT 1; DROP TABLE users; --",
            "TRUNCATE users",
            "DELETE FROM users",
            "delete from users where 1=1",
            "DELETE FROM users WHERE TRUE",
            "DELETE FROM users WHERE id=5 OR 1=1",
            "DELETE FROM users WHERE 'a'='a'",
            "DELETE FROM users WHERE id = id",
            "DELETE FROM users WHERE name LIKE '%'",
            "UPDATE users SET admin = 1",
            "ALTER TABLE users DROP COLUMN email",
            "WITH gone AS (DELETE FROM users RETURNING *) SELECT * FROM gone",
            "EXPLAIN ANALYZE DELETE FROM users",
            "BEGIN; DELETE FROM users; COMMIT",
            "DE/**/LETE FROM x; DELETE/**/FROM users",
            "/*!50000 DROP TABLE users */",
            "UPDATE t SET a = (SELECT b FROM c WHERE d = 1)",
        ] {
            assert!(judge(text).is_some_and(|found| found.level >= RiskLevel::Confirm), "{text}");
        }
    }

    #[test]
    fn what_does_not_is_let_pass() {
        for text in [
            "SELECT * FROM users",
            "SELECT 'DROP TABLE users'",
            "INSERT INTO t VALUES ('delete from x; drop table y')",
            "-- DROP TABLE users\nSELECT 1",
            "DELETE FROM users WHERE id = 5",
            "DELETE FROM users WHERE id = 5 AND 1=1",
            "UPDATE users SET a = 1 WHERE id = 3",
            "EXPLAIN DELETE FROM users",
            "CREATE TABLE t (id int REFERENCES u ON DELETE CASCADE)",
            "ALTER TABLE t ADD COLUMN dropped bool",
            "SELECT \"drop\" FROM t",
            "SELECT drop_count, delete FROM t",
            "GRANT DELETE ON t TO bob",
            "CREATE TRIGGER x AFTER DELETE ON t BEGIN SELECT 1; END",
        ] {
            assert_eq!(judge(text), None, "{text}");
        }
    }
}
