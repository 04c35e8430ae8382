//! Tables of records in TOML: `commands.toml`, `detectors.toml`. What can't be read is an error that names the file,
//! the line and the way out.

use std::ops::Range;

use loopwright_base::{
    error::{Error, Result},
    text::head,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A value with its place.
pub(super) type Item<'t> = Spanned<DeValue<'t>>;

/// A table: the name and the text of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'t> {
    pub(super) file: &'t str,
    pub(super) text: &'t str,
}

impl<'t> Table<'t> {
    /// The error of what stands at a place, with the way out.
    pub(super) fn wrong(&self, span: &Range<usize>, what: impl std::fmt::Display, way_out: impl Into<String>) -> Error {
        let line = head(self.text, span.start).matches('\n').count() + 1;
        Error::usage("invalid_records", format!("{}, line {line}: {what}", self.file)).hint(way_out)
    }

    /// The table, parsed.
    pub(super) fn parse(&self) -> Result<DeTable<'t>> {
        let table = DeTable::parse(self.text).map_err(|error| {
            self.wrong(&error.span().unwrap_or_default(), error.message(), "mend the TOML at that place")
        })?;
        Ok(table.into_inner())
    }

    /// The members of a record.
    pub(super) fn members<'i>(&self, item: &'i Item<'t>) -> Result<&'i DeTable<'t>> {
        item.get_ref().as_table().ok_or_else(|| self.kind(item, "a table"))
    }

    /// The values of a list.
    pub(super) fn items<'i>(&self, item: &'i Item<'t>) -> Result<&'i [Item<'t>]> {
        item.get_ref().as_array().map(|items| &**items).ok_or_else(|| self.kind(item, "a list"))
    }

    /// A text.
    pub(super) fn text(&self, item: &Item<'_>) -> Result<String> {
        item.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.kind(item, "a text"))
    }

    /// A list of texts.
    pub(super) fn texts(&self, item: &Item<'t>) -> Result<Vec<String>> {
        self.items(item)?.iter().map(|item| self.text(item)).collect()
    }

    /// The words of a text, parted by blanks.
    pub(super) fn words(&self, item: &Item<'_>) -> Result<Vec<String>> {
        Ok(self.text(item)?.split_whitespace().map(str::to_owned).collect())
    }

    /// A whole number.
    pub(super) fn number(&self, item: &Item<'_>) -> Result<usize> {
        let number = item.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        number.ok_or_else(|| self.kind(item, "a whole number"))
    }

    /// True or false.
    pub(super) fn truth(&self, item: &Item<'_>) -> Result<bool> {
        item.get_ref().as_bool().ok_or_else(|| self.kind(item, "a plain true or false"))
    }

    fn kind(&self, item: &Item<'_>, wanted: &str) -> Error {
        self.wrong(
            &item.span(),
            format_args!("this is no {}", wanted.split_once(' ').map_or(wanted, |(_, noun)| noun)),
            format!("write {wanted}"),
        )
    }
}
