//! Rows and cells of a table; one made for its layout is read as paragraphs.

use super::{super::blocks::Kind, PageReader};

/// The length from which a cell is a paragraph, in a table made for its layout.
const MAX_CELL: usize = 600;

impl PageReader {
    pub(super) fn end_cell(&mut self) {
        let Some(row) = &mut self.row else { return self.flush() };
        if row.layout {
            return self.flush();
        }
        if self.line.len() > MAX_CELL {
            return self.treat_as_layout();
        }
        self.end_link();
        self.space = false;
        if let Some(row) = &mut self.row {
            let text = std::mem::take(&mut self.line).replace('\n', " ").replace(" | ", " / ");
            row.cells.push((text, std::mem::take(&mut self.links)));
        }
    }

    pub(super) fn end_row(&mut self) {
        if self.row.as_ref().is_some_and(|row| !row.layout) && !self.line.is_empty() {
            self.end_cell();
        }
        let Some(row) = self.row.take() else { return };
        let cells: Vec<_> = row.cells.into_iter().collect();
        let filled = cells.iter().filter(|(text, _)| !text.trim().is_empty()).count();
        if filled == 0 {
            return self.flush();
        }
        if cells.len() == 1 {
            for (text, links) in cells {
                self.push(Kind::Paragraph, text, links);
            }
            return;
        }
        let mut line = String::from("|");
        let mut links = Vec::new();
        for (text, inside) in cells {
            line.push(' ');
            let start = line.len();
            line.push_str(text.trim_end());
            links.extend(inside.into_iter().map(|(place, url)| (place.start + start..place.end + start, url)));
            line.push_str(" |");
        }
        let first = std::mem::take(&mut self.first_row);
        self.push(Kind::Row(first), line, links);
    }

    /// Treats the row that is being read as layout: its cells so far are paragraphs.
    pub(super) fn treat_as_layout(&mut self) {
        let Some(row) = &mut self.row else { return };
        if row.layout {
            return;
        }
        row.layout = true;
        let cells = std::mem::take(&mut row.cells);
        for (text, links) in cells {
            if !text.trim().is_empty() {
                self.push(Kind::Paragraph, text, links);
            }
        }
        self.flush();
    }
}
