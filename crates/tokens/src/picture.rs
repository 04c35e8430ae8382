//! Tokens of pictures: their size, read from the first bytes of the file, and the provider's rule.
//!
//! Only headers are looked at, a few kilobytes at most, and nothing is decoded.

use super::model::PictureRule;
use loopwright_base::base64::{MAX_DOCUMENT, decode_to};

/// Bytes of a file that are read. The size of a JPEG may come after its metadata.
const HEAD: usize = 96 * 1024;

/// Width and height of a PNG, GIF, WebP or JPEG in base64.
pub(super) fn size(base64: &str) -> Option<(u32, u32)> {
    let bytes = decode(base64.as_bytes());
    let be16 = |at: usize| Some(u32::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)));
    let le16 = |at: usize| Some(u32::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)));
    let found = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => {
            let be32 = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
            (be32(16)?, be32(20)?)
        }
        [b'G', b'I', b'F', ..] => (le16(6)?, le16(8)?),
        [b'R', b'I', b'F', b'F', ..] => match bytes.get(12..16)? {
            b"VP8 " => (le16(26)? & 0x3fff, le16(28)? & 0x3fff),
            b"VP8X" => {
                let le24 = |at: usize| Some(le16(at)? | u32::from(*bytes.get(at + 2)?) << 16);
                (le24(24)? + 1, le24(27)? + 1)
            }
            b"VP8L" => {
                let bits = u32::from_le_bytes(*bytes.get(21..)?.first_chunk()?);
                ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
            }
            _ => return None,
        },
        [0xff, 0xd8, ..] => {
            let mut at = 2;
            loop {
                let (&[mark, kind], length) = (bytes.get(at..)?.first_chunk::<2>()?, be16(at + 2)?);
                if mark != 0xff {
                    return None;
                }
                // A frame, but for the tables that share its range.
                if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
                    break (be16(at + 7)?, be16(at + 5)?);
                }
                at += 2 + length as usize;
            }
        }
        _ => return None,
    };
    (found.0 > 0 && found.1 > 0).then_some(found)
}

/// The number of pages of a PDF in base64, where it is stated.
pub(super) fn pages(base64: &str) -> Option<usize> {
    if !base64.starts_with("JVBERi") {
        return None;
    }
    let bytes = decode_to(base64.as_bytes(), MAX_DOCUMENT);
    // Each page is an object of its own type, …
    let pages = memchr::memmem::find_iter(&bytes, b"/Type")
        .filter(|at| {
            let rest = bytes.get(at + 5..).unwrap_or_default().trim_ascii_start();
            rest.strip_prefix(b"/Page").is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
        })
        .count();
    // … or stands in a compressed stream, and the largest count of a tree of pages is all there is to read.
    let counted = memchr::memmem::find_iter(&bytes, b"/Count").filter_map(|at| {
        let rest = bytes.get(at + 6..).unwrap_or_default().trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count().min(5);
        std::str::from_utf8(rest.get(..digits)?).ok()?.parse::<usize>().ok()
    });
    Some(pages.max(counted.max().unwrap_or(0).min(bytes.len() / 64))).filter(|pages| *pages > 0)
}

/// The first bytes of a file in base64.
fn decode(base64: &[u8]) -> Vec<u8> {
    decode_to(base64, HEAD)
}

/// The tokens of a picture of that size.
pub(super) fn tokens(rule: PictureRule, width: u32, height: u32, low: bool) -> f64 {
    let (width, height) = (f64::from(width), f64::from(height));
    match rule {
        PictureRule::Tiles if low => 85.0,
        PictureRule::Tiles => {
            // Fitted into 2048 by 2048, then the short side down to 768, then tiles of 512.
            let fit = (2048.0 / width.max(height)).min(1.0);
            let (width, height) = (width * fit, height * fit);
            let short = (768.0 / width.min(height)).min(1.0);
            let tiles = (width * short / 512.0).ceil() * (height * short / 512.0).ceil();
            85.0 + 170.0 * tiles.max(1.0)
        }
        PictureRule::Area => {
            let fit = (1568.0 / width.max(height)).min(1.0);
            (width * fit * height * fit / 750.0).clamp(1.0, 1_600.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_pictures() {
        // 1 by 1, as small as a PNG gets.
        let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
        assert_eq!(size(png), Some((1, 1)));
        assert_eq!(size("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"), Some((1, 1)));
        assert_eq!(size("/9j/4AAQSkZJRg=="), None);
        assert_eq!(size(""), None);
        assert_eq!(size("!!!"), None);
    }

    #[test]
    fn pages_of_documents() {
        // "%PDF-1.4 /Type /Pages /Count 3 /Type/Page /Type /Page\n", and two of them without a page to see.
        let both = "JVBERi0xLjQgL1R5cGUgL1BhZ2VzIC9Db3VudCAzIC9UeXBlL1BhZ2UgL1R5cGUgL1BhZ2UK";
        assert_eq!(pages(both), Some(2));
        assert_eq!(pages("JVBERi0xLjQK"), None);
        assert_eq!(pages("iVBORw0KGgo="), None);
    }

    #[test]
    fn the_documented_examples() {
        assert_eq!(tokens(PictureRule::Tiles, 1024, 1024, false) as u32, 765);
        assert_eq!(tokens(PictureRule::Tiles, 2048, 4096, false) as u32, 1105);
        assert_eq!(tokens(PictureRule::Tiles, 4096, 8192, true) as u32, 85);
        assert_eq!(tokens(PictureRule::Area, 1092, 1092, false) as u32, 1589);
    }
}
