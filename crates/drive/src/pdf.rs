//! The text of PDF files, page by page.
//!
//! A PDF is a program that others wrote: it is read in a thread of its own, with a limit on time, and only after its
//! compressed streams were seen to stay below a limit. A failure in there is a warning about one file.

use std::{
    io::Read,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use flate2::read::ZlibDecoder;
use loopwright_base::text::floor_boundary;

/// Bytes that all streams of a file may hold, unpacked.
const MAX_UNPACKED: u64 = 64 << 20;
/// Time limit of one file.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of text that a file gives.
const MAX_TEXT: usize = 4 << 20;
/// The stack of the reading thread: broken files nest deeply.
const STACK: usize = 16 << 20;
/// Threads that overran their time after which no more are started.
const MAX_STUCK: usize = 4;

static STUCK: AtomicUsize = AtomicUsize::new(0);

/// The text of each page, or the reason why there is none.
pub(super) fn pages(bytes: Vec<u8>) -> Result<Vec<String>, String> {
    check(&bytes)?;
    if STUCK.load(Ordering::Relaxed) >= MAX_STUCK {
        return Err("not read: earlier PDF files have not come to an end".to_owned());
    }
    // Whose text nobody sees without a password. The dictionary that says so is never packed.
    let locked = memchr::memmem::find(&bytes, b"/Encrypt").is_some();
    let (sender, receiver) = mpsc::sync_channel(1);
    STUCK.fetch_add(1, Ordering::Relaxed);
    let work = move || {
        // The library panics where a file is broken in a way nobody thought of.
        let read = std::panic::catch_unwind(|| pdf_extract::extract_text_from_mem_by_pages(&bytes));
        STUCK.fetch_sub(1, Ordering::Relaxed);
        let _ = sender.send(match read {
            Ok(Ok(pages)) => Ok(pages),
            Ok(Err(error)) => Err(format!("a broken PDF: {error}")),
            Err(_) => Err("a broken PDF".to_owned()),
        });
    };
    let started = std::thread::Builder::new().name("loopwright pdf".to_owned()).stack_size(STACK).spawn(work);
    if started.is_err() {
        STUCK.fetch_sub(1, Ordering::Relaxed);
        return Err("no thread could be started to read it".to_owned());
    }
    let mut pages = match receiver.recv_timeout(TIME_LIMIT) {
        Ok(read) => read?,
        Err(_) => return Err(format!("a PDF that takes longer than {} s", TIME_LIMIT.as_secs())),
    };
    let mut left = MAX_TEXT;
    for page in &mut pages {
        if page.len() > left {
            page.truncate(floor_boundary(page, left));
        }
        left -= page.len();
    }
    if pages.iter().all(|page| page.trim().is_empty()) {
        let why = if locked { "an encrypted PDF" } else { "a PDF without text: its pages are pictures" };
        return Err(why.to_owned());
    }
    Ok(pages)
}

/// Refuses files that are no PDF, and those whose streams unpack to more than the limit.
fn check(bytes: &[u8]) -> Result<(), String> {
    let head = bytes.get(..bytes.len().min(1_024)).unwrap_or_default();
    if memchr::memmem::find(head, b"%PDF-").is_none() {
        return Err("no PDF, whatever its name says".to_owned());
    }
    // Filters upon filters unpack what was unpacked; no honest writer packs twice.
    let flates = memchr::memmem::find_iter(bytes, b"/FlateDecode");
    let packed_twice = flates.into_iter().any(|at| {
        let rest = bytes.get(at + b"/FlateDecode".len()..).unwrap_or_default();
        rest.trim_ascii_start().starts_with(b"/FlateDecode")
    });
    if packed_twice || memchr::memmem::find(bytes, b"/LZWDecode").is_some() {
        return Err("a PDF with nested or outdated packing".to_owned());
    }
    let mut unpacked = 0_u64;
    for at in memchr::memmem::find_iter(bytes, b"stream") {
        let rest = bytes.get(at + b"stream".len()..).unwrap_or_default();
        let data = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        // The first byte of a zlib stream says its method.
        if data.first().is_none_or(|first| first & 0x0F != 8) {
            continue;
        }
        let mut reader = ZlibDecoder::new(data).take(MAX_UNPACKED.saturating_sub(unpacked) + 1);
        let mut buffer = [0_u8; 16_384];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            unpacked += count as u64;
        }
        if unpacked > MAX_UNPACKED {
            return Err(format!("a PDF that unpacks to more than {} MB", MAX_UNPACKED >> 20));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::io::Write as _;

    /// A PDF with a page for each text.
    pub(crate) fn pdf(texts: &[&str]) -> Vec<u8> {
        let mut out = b"%PDF-1.4\n".to_vec();
        let mut places = Vec::new();
        let mut object = |out: &mut Vec<u8>, body: &[u8]| {
            places.push(out.len());
            let number = places.len();
            out.extend(format!("{number} 0 obj\n").as_bytes());
            out.extend(body);
            out.extend(b"\nendobj\n");
        };
        object(&mut out, b"<< /Type /Catalog /Pages 2 0 R >>");
        let kids: Vec<String> = (0..texts.len()).map(|at| format!("{} 0 R", 4 + 2 * at)).collect();
        object(&mut out, format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), texts.len()).as_bytes());
        object(&mut out, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
        for (at, text) in texts.iter().enumerate() {
            let page = format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R \
                 /Resources << /Font << /F1 3 0 R >> >> >>",
                5 + 2 * at
            );
            object(&mut out, page.as_bytes());
            let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
            let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            packed.write_all(content.as_bytes()).unwrap();
            let packed = packed.finish().unwrap();
            let mut body = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", packed.len()).into_bytes();
            body.extend(packed);
            body.extend(b"\nendstream");
            object(&mut out, &body);
        }
        let start = out.len();
        out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).as_bytes());
        for place in &places {
            out.extend(format!("{place:010} 00000 n \n").as_bytes());
        }
        out.extend(
            format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", places.len() + 1).as_bytes(),
        );
        out
    }

    #[test]
    fn e07_pages_of_a_pdf() {
        let read = pages(pdf(&["The cache holds ten pages.", "The wait doubles."])).unwrap();
        assert_eq!(read.len(), 2);
        assert!(read[0].contains("The cache holds ten pages.") && read[1].contains("The wait doubles."), "{read:?}");
    }

    #[test]
    fn one_that_is_locked_says_so() {
        let mut file = pdf(&["Text."]);
        let trailer = memchr::memmem::find(&file, b"/Root").unwrap();
        file.splice(trailer..trailer, *b"/Encrypt 9 0 R ");
        assert_eq!(pages(file).unwrap_err(), "an encrypted PDF");
    }

    #[test]
    fn broken_and_hostile_ones_are_refused() {
        assert!(pages(b"hello".to_vec()).unwrap_err().contains("no PDF"));
        let whole = pdf(&["Some text."]);
        for end in (9..whole.len()).step_by(37) {
            let _ = pages(whole[..end].to_vec());
        }
        for at in (9..whole.len()).step_by(23) {
            let mut broken = whole.clone();
            broken[at] ^= 0x15;
            let _ = pages(broken);
        }
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        for _ in 0..80 {
            packed.write_all(&vec![0; 1 << 20]).unwrap();
        }
        let mut bomb = b"%PDF-1.4\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\n".to_vec();
        bomb.extend(packed.finish().unwrap());
        assert!(pages(bomb).unwrap_err().contains("unpacks to more"));
        assert!(pages(b"%PDF-1.4 [/FlateDecode /FlateDecode]".to_vec()).unwrap_err().contains("packing"));
        assert!(pages(b"%PDF-1.4 nothing".to_vec()).unwrap_err().contains("PDF"));
    }
}
