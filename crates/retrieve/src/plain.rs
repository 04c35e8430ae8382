//! The readable text of a file: decoded, notebooks without JSON. Pages are left to those who read pages.
//!
//! Every line of the result is the line of that number in the file, so that citations lead to the right place; what is
//! not text becomes empty lines. Bytes that are no UTF-8 are read as Windows-1252, those with a mark as UTF-16.

use std::borrow::Cow;

/// The text of the file at `path`, or `None` if its bytes are no text.
pub fn plain_text(path: &str, bytes: &[u8]) -> Option<String> {
    let (text, _) = decoded(bytes)?;
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    Some(match extension.as_deref() {
        Some("ipynb") => notebook(&text),
        _ => text.into_owned(),
    })
}

/// The text of bytes, and whether their encoding is beyond doubt; `None` if they are no text.
pub fn decoded(bytes: &[u8]) -> Option<(Cow<'_, str>, bool)> {
    let utf16 = |pairs: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = pairs.chunks_exact(2).map(|pair| match pair {
            [first, second] => unit([*first, *second]),
            _ => 0,
        });
        let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        (!text.contains('\0')).then_some((Cow::Owned(text), true))
    };
    if let Some(pairs) = bytes.strip_prefix(b"\xFF\xFE") {
        return utf16(pairs, u16::from_le_bytes);
    }
    if let Some(pairs) = bytes.strip_prefix(b"\xFE\xFF") {
        return utf16(pairs, u16::from_be_bytes);
    }
    if memchr::memchr(0, bytes).is_some() {
        return None;
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Some((Cow::Borrowed(text), true)),
        Err(_) => Some((Cow::Owned(bytes.iter().map(|byte| windows_1252(*byte)).collect()), false)),
    }
}

const fn windows_1252(byte: u8) -> char {
    const MIDDLE: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => MIDDLE[(byte - 0x80) as usize],
        _ => byte as char,
    }
}

/// The cells of a notebook, with the text that code printed; code stands in fences. `None` if it is none.
pub fn notebook_cells(json: &str) -> Option<Vec<String>> {
    let notebook: serde_json::Value = serde_json::from_str(json).ok()?;
    let joined = |value: Option<&serde_json::Value>| match value {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Array(lines)) => lines.iter().filter_map(serde_json::Value::as_str).collect(),
        _ => String::new(),
    };
    let cells = notebook.get("cells")?.as_array()?.iter().map(|cell| {
        let source = joined(cell.get("source"));
        if cell.get("cell_type").and_then(serde_json::Value::as_str) != Some("code") {
            return source;
        }
        let mut text = format!("```\n{source}\n```\n");
        for output in cell.get("outputs").and_then(serde_json::Value::as_array).into_iter().flatten() {
            let said = output.get("text").or_else(|| output.get("data")?.get("text/plain"));
            text.push_str(&joined(said));
            text.push('\n');
        }
        text
    });
    Some(cells.collect())
}

/// The sources of a notebook's cells, code in fences. Notebooks are written one source line to a line of JSON, and so
/// line numbers stay; one that is written otherwise is taken apart as JSON, and lines are those of the joined cells.
fn notebook(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut is_code, mut found) = (false, false, false);
    for line in json.lines() {
        let content = line.trim();
        if inside && content.starts_with(']') {
            inside = false;
            out.push_str(if is_code { "```" } else { "" });
        } else if inside {
            if let Ok(text) = serde_json::from_str::<String>(content.trim_end_matches(',')) {
                // A source line holds no line break but its last one; any other would move the lines below.
                out.push_str(&text.trim_end_matches('\n').replace('\n', " "));
                found = true;
            }
        } else if content.starts_with("\"cell_type\"") {
            is_code = content.contains("\"code\"");
        } else if content == "\"source\": [" {
            inside = true;
            out.push_str(if is_code { "```" } else { "" });
        }
        out.push('\n');
    }
    if found { out } else { cells(json).unwrap_or_default() }
}

fn cells(json: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    let mut out = String::new();
    for cell in value.get("cells")?.as_array()? {
        let fence =
            if cell.get("cell_type").and_then(serde_json::Value::as_str) == Some("code") { "```\n" } else { "" };
        out.push_str(fence);
        match cell.get("source") {
            Some(serde_json::Value::String(text)) => out.push_str(text),
            Some(serde_json::Value::Array(lines)) => {
                lines.iter().filter_map(serde_json::Value::as_str).for_each(|line| out.push_str(line));
            }
            _ => {}
        }
        out.push('\n');
        out.push_str(fence);
        out.push('\n');
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notebooks_keep_their_lines() {
        let json = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"source\": [\n    \"# Title\\n\",\n    \"Text.\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"outputs\": [],\n   \"source\": [\n    \"x = 1\"\n   ]\n  }\n ]\n}\n";
        let text = plain_text("a.ipynb", json.as_bytes()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[5], lines[6], lines[12], lines[13], lines[14]), ("# Title", "Text.", "```", "x = 1", "```"));
        let compact =
            r##"{"cells":[{"cell_type":"markdown","source":["# T\n","x"]},{"cell_type":"code","source":"y"}]}"##;
        assert_eq!(plain_text("a.ipynb", compact.as_bytes()).unwrap(), "# T\nx\n\n```\ny\n```\n\n");
        assert_eq!(plain_text("a.ipynb", b"no json").unwrap(), "");
    }

    #[test]
    fn binary_and_broken_text() {
        assert_eq!(plain_text("a.bin", b"a\0b"), None);
        assert_eq!(plain_text("a.txt", b"\xEF\xBB\xBFa\xFF").unwrap(), "aÿ");
        assert_eq!(plain_text("a.txt", b"caf\xE9 \x93x\x94").unwrap(), "café “x”");
        assert_eq!(plain_text("a.txt", b"\xFF\xFEa\0\xE9\0").unwrap(), "aé");
        assert_eq!(plain_text("a.bin", b"\xFF\xFEa\0\0\0"), None);
    }
}
