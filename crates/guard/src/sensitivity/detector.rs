//! A detector is a record of `detectors.toml`: it names itself, the keywords that wake it, and the form that its find
//! must have. The head of that file says how a record reads.

use std::sync::LazyLock;

use loopwright_base::error::Result;

use super::Level;
use crate::table::{Item, Table};

/// A detector, as its record says.
#[derive(Clone, Debug)]
pub struct Detector {
    /// A stable name, as `github-token`.
    pub id: String,
    /// What a hit is, for people.
    pub why: String,
    /// How much a hit weighs.
    pub level: Level,
    /// Any of these, in any case of letters, wakes the detector.
    pub keywords: Vec<String>,
    /// A text in which it finds something, made up. `{36:an}` stands for 36 letters and digits.
    pub example: String,
    /// A text that comes near, in which no detector finds anything.
    pub counterexample: String,
    pub(super) find: Find,
    pub(super) check: Check,
}

/// Where a detector looks once a keyword woke it.
#[derive(Clone, Debug)]
pub(super) enum Find {
    /// The keyword begins the find: the expression is held against the text from there. Group 1, if the expression has
    /// one, is the find.
    Here(String),
    /// The keyword stands in the find or before it: the expression is sought in a window around.
    Near { back: usize, ahead: usize, form: String },
    /// A label with a value behind it, read by `label`.
    Label,
    /// Text in base64, read by `encoded` and then like any text.
    Encoded,
    /// An address around the keyword, read by `personal`.
    Mail,
    /// Found by its digits, not by keywords.
    Digits,
}

/// What is asked of a find beyond its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing.
    None,
    /// It must not be cut off by whoever shows it: `MIIEpQIBAAKC...`.
    Whole,
    /// It must not be a placeholder.
    Real,
    /// Not a placeholder, and letters or digits as chance gives them.
    Entropy,
    /// The first part decodes to the header of a token.
    Jwt,
    /// Decodes to `user:password`.
    Basic,
    /// Looks like a password and not like a name.
    Password,
    /// As `Password`, in an address: neither it nor its user and host may be words that only say what stands there.
    Address,
    /// A header of a private key, with a body or at the end of a line.
    PrivateKey,
    /// Not a placeholder, and random by its shape.
    Random,
    /// As `Real`, and with a digit or a mark: where a plain word would more likely be something else.
    Chosen,
}

impl Find {
    fn reader(name: &str) -> Option<Self> {
        Some(match name {
            "label" => Self::Label,
            "encoded" => Self::Encoded,
            "mail" => Self::Mail,
            "digits" => Self::Digits,
            _ => return None,
        })
    }
}

impl Check {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "whole" => Self::Whole,
            "real" => Self::Real,
            "entropy" => Self::Entropy,
            "jwt" => Self::Jwt,
            "basic" => Self::Basic,
            "password" => Self::Password,
            "address" => Self::Address,
            "private_key" => Self::PrivateKey,
            "random" => Self::Random,
            "chosen" => Self::Chosen,
            _ => return None,
        })
    }
}

/// All detectors, the most telling first.
pub(super) fn all() -> &'static [Detector] {
    // A test holds that the table can be read.
    static ALL: LazyLock<Vec<Detector>> = LazyLock::new(|| read(include_str!("detectors.toml")).unwrap_or_default());
    &ALL
}

fn read(text: &str) -> Result<Vec<Detector>> {
    let table = Table { file: "detectors.toml", text };
    let mut all: Vec<Detector> = Vec::new();
    for (key, value) in &table.parse()? {
        if key.get_ref() != "detector" {
            let what = format!("{}: is no part of a table of detectors", key.get_ref());
            return Err(table.wrong(&key.span(), what, "write [[detector]]"));
        }
        for item in table.items(value)? {
            let one = record(&table, item)?;
            if all.iter().any(|known| known.id == one.id) {
                return Err(table.wrong(&item.span(), format!("{}: has two records", one.id), "write one"));
            }
            all.push(one);
        }
    }
    Ok(all)
}

/// What a record may say.
const FIELDS: [&str; 10] =
    ["id", "why", "level", "keywords", "form", "near", "find", "check", "example", "counterexample"];

/// The way out of most that may be wrong.
const WAY_OUT: &str = "the head of the file says how";

fn record(table: &Table<'_>, item: &Item<'_>) -> Result<Detector> {
    let members = table.members(item)?;
    if let Some(key) = members.keys().find(|key| !FIELDS.contains(&&**key.get_ref())) {
        let what = format!("{}: is no part of a detector", key.get_ref());
        return Err(table.wrong(&key.span(), what, WAY_OUT));
    }
    let needed = |name: &str| {
        let missing = || table.wrong(&item.span(), format!("a detector without {name:?}"), WAY_OUT);
        table.text(members.get(name).ok_or_else(missing)?)
    };
    Ok(Detector {
        id: needed("id")?,
        why: needed("why")?,
        level: named(table, members.get("level"), Level::named)?.unwrap_or(Level::Secret),
        keywords: members.get("keywords").map_or_else(|| Ok(Vec::new()), |item| table.texts(item))?,
        example: needed("example")?,
        counterexample: needed("counterexample")?,
        find: find(table, item)?,
        check: named(table, members.get("check"), Check::named)?.unwrap_or(Check::Entropy),
    })
}

/// What a name stands for, if one is given.
fn named<T>(table: &Table<'_>, item: Option<&Item<'_>>, read: fn(&str) -> Option<T>) -> Result<Option<T>> {
    let Some(item) = item else { return Ok(None) };
    let name = table.text(item)?;
    let found = read(&name).ok_or_else(|| table.wrong(&item.span(), format!("{name:?} names nothing"), WAY_OUT))?;
    Ok(Some(found))
}

fn find(table: &Table<'_>, item: &Item<'_>) -> Result<Find> {
    let members = table.members(item)?;
    // It is compiled when a keyword first wakes it; its example shows that it can be.
    let form = members.get("form").map(|item| table.text(item)).transpose()?;
    let reader = named(table, members.get("find"), Find::reader)?;
    match (form, members.get("near"), reader) {
        (Some(form), None, None) => Ok(Find::Here(form)),
        (Some(form), Some(near), None) => {
            let [back, ahead] = table.items(near)? else {
                return Err(table.wrong(&near.span(), "a window has two sides", "write near = [BACK, AHEAD]"));
            };
            Ok(Find::Near { back: table.number(back)?, ahead: table.number(ahead)?, form })
        }
        (None, None, Some(reader)) => Ok(reader),
        _ => Err(table.wrong(&item.span(), "a detector has a form or a reader", "write form, or find")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detectors_can_be_read() {
        assert_eq!(read(include_str!("detectors.toml")).unwrap().len(), 277);
    }

    #[test]
    fn unreadable_record_is_told_with_file_line_and_way_out() {
        let whole = "[[detector]]\nid = 'a'\nwhy = 'an a'\nform = '^a'\nexample = 'a'\ncounterexample = 'b'\n";
        assert_eq!(read(whole).unwrap().len(), 1);
        let found = |from: &str, to: &str| read(&whole.replace(from, to)).unwrap_err().to_string();
        for (from, to, wanted) in [
            ("id = 'a'", "id = 7", "detectors.toml, line 2: this is no text (write a text)"),
            ("id = 'a'", "id =", "detectors.toml, line 2: "),
            ("why = 'an a'\n", "", "detectors.toml, line 1: a detector without \"why\""),
            ("example = 'a'\n", "", "detectors.toml, line 1: a detector without \"example\""),
            (
                "form = '^a'",
                "find = 'nose'",
                "detectors.toml, line 4: \"nose\" names nothing (the head of the file says how)",
            ),
            ("form = '^a'", "near = [1, 2]", "detectors.toml, line 1: a detector has a form or a reader"),
            ("form = '^a'", "form = '^a'\nnear = [1]", "detectors.toml, line 5: a window has two sides"),
            ("form = '^a'", "form = '^a'\nnear = [1, -2]", "detectors.toml, line 5: this is no whole number"),
            ("form = '^a'", "form = '^a'\ncheck = 'luck'", "detectors.toml, line 5: \"luck\" names nothing"),
            ("form = '^a'", "form = '^a'\nkeywords = 'a'", "detectors.toml, line 5: this is no list"),
            ("form = '^a'", "form = '^a'\nlevel = 'high'", "detectors.toml, line 5: \"high\" names nothing"),
            ("form = '^a'", "form = '^a'\nweight = 1", "detectors.toml, line 5: weight: is no part of a detector"),
            ("[[detector]]", "[[policy]]", "detectors.toml, line 1: policy: is no part"),
        ] {
            let error = found(from, to);
            assert!(error.starts_with(wanted), "{to}: {error}");
        }
        let twice = read(&format!("{whole}{whole}")).unwrap_err().to_string();
        assert_eq!(twice, "detectors.toml, line 7: a: has two records (write one)");
    }
}
