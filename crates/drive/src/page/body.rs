//! The body of a page while it comes: unpacked if it was packed, never more of it than wanted.
//!
//! The size of the unpacked body counts, not what is sent: a small bomb that unpacks to gigabytes is stopped where the
//! limit is reached, with a few kilobytes of memory beyond it.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use loopwright_base::error::{Error, Fault, Result};

/// The ratio above which packed text is suspect; text is seldom packed better.
const HONEST_RATIO: usize = 200;

/// The unpacked bytes of a body, up to a limit.
struct LimitedBuffer {
    bytes: Vec<u8>,
    most: usize,
    full: bool,
}

impl Write for LimitedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        if bytes.len() > room {
            self.full = true;
            return Err(io::Error::other("enough"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Unpack {
    Plain(LimitedBuffer),
    Gzip(MultiGzDecoder<LimitedBuffer>),
    Zlib(ZlibDecoder<LimitedBuffer>),
    Raw(DeflateDecoder<LimitedBuffer>),
    /// A body of `deflate`: some servers leave the header of zlib out; its first byte tells.
    Unknown(LimitedBuffer),
}

impl Unpack {
    fn kept(&mut self) -> &mut LimitedBuffer {
        match self {
            Self::Plain(kept) | Self::Unknown(kept) => kept,
            Self::Gzip(inner) => inner.get_mut(),
            Self::Zlib(inner) => inner.get_mut(),
            Self::Raw(inner) => inner.get_mut(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(kept) | Self::Unknown(kept) => kept.write_all(bytes),
            Self::Gzip(inner) => inner.write_all(bytes),
            Self::Zlib(inner) => inner.write_all(bytes),
            Self::Raw(inner) => inner.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) | Self::Unknown(_) => Ok(()),
            Self::Gzip(inner) => inner.flush(),
            Self::Zlib(inner) => inner.flush(),
            Self::Raw(inner) => inner.flush(),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) | Self::Unknown(_) => Ok(()),
            Self::Gzip(inner) => inner.try_finish(),
            Self::Zlib(inner) => inner.try_finish(),
            Self::Raw(inner) => inner.try_finish(),
        }
    }
}

/// A body that is being read.
pub(crate) struct Body {
    unpack: Unpack,
    received: usize,
    host: String,
}

impl Body {
    /// A body in `encoding`, of which at most `most` bytes are kept; `host` is for errors.
    pub(crate) fn new(encoding: Option<&str>, most: usize, host: &str) -> Result<Self> {
        let kept = LimitedBuffer { bytes: Vec::new(), most, full: false };
        let encoding = encoding.unwrap_or_default().trim().to_ascii_lowercase();
        let unpack = match encoding.as_str() {
            "" | "identity" | "none" => Unpack::Plain(kept),
            "gzip" | "x-gzip" => Unpack::Gzip(MultiGzDecoder::new(kept)),
            "deflate" => Unpack::Unknown(kept),
            _ => {
                let shown: String = encoding.chars().take(60).collect();
                let message = format!("{host} sent its page packed as {shown:?}, which nobody asked for");
                return Err(Error::new(Fault::Tool, "unsupported_encoding", message));
            }
        };
        Ok(Self { unpack, received: 0, host: host.to_owned() })
    }

    /// Takes the next bytes; `false` if no more is wanted.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<bool> {
        let (Some(first), false) = (bytes.first(), self.unpack.kept().full) else {
            return Ok(!self.unpack.kept().full);
        };
        if let Unpack::Unknown(kept) = &mut self.unpack {
            let kept = LimitedBuffer { bytes: Vec::new(), most: kept.most, full: false };
            self.unpack = if first & 0x0f == 8 && first >> 4 <= 7 {
                Unpack::Zlib(ZlibDecoder::new(kept))
            } else {
                Unpack::Raw(DeflateDecoder::new(kept))
            };
        }
        self.received = self.received.saturating_add(bytes.len());
        match self.unpack.write(bytes) {
            Ok(()) => Ok(true),
            Err(_) if self.unpack.kept().full => Ok(false),
            Err(error) => Err(self.broken(&error)),
        }
    }

    /// Returns the bytes unpacked since the last call; the limit holds for all of them together.
    pub(crate) fn drain(&mut self) -> Result<Vec<u8>> {
        if self.received > 0
            && let Err(error) = self.unpack.flush()
            && !self.unpack.kept().full
        {
            return Err(self.broken(&error));
        }
        let kept = self.unpack.kept();
        kept.most = kept.most.saturating_sub(kept.bytes.len());
        Ok(std::mem::take(&mut kept.bytes))
    }

    /// Returns whether the body has to be unpacked.
    pub(crate) fn is_packed(&self) -> bool {
        !matches!(self.unpack, Unpack::Plain(_))
    }

    /// Ends the body: an error, if it does not end as packed bodies do.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.received > 0
            && !self.unpack.kept().full
            && let Err(error) = self.unpack.finish()
            && !self.unpack.kept().full
        {
            return Err(self.broken(&error));
        }
        Ok(())
    }

    /// The bytes, and whether there were more.
    pub(crate) fn end(mut self) -> Result<(Vec<u8>, bool)> {
        self.finish()?;
        let received = self.received;
        let packed = self.is_packed();
        let kept = self.unpack.kept();
        if packed && kept.full && kept.bytes.len() / HONEST_RATIO > received {
            let message = format!("{} sent {received} bytes that unpack to more than {}", self.host, kept.most);
            return Err(Error::new(Fault::Tool, "compressed_bomb", message).hint("look for another page"));
        }
        Ok((std::mem::take(&mut kept.bytes), kept.full))
    }

    fn broken(&self, error: &io::Error) -> Error {
        Error::new(Fault::Tool, "invalid_body", format!("what {} sent can't be unpacked: {error}", self.host))
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = write::GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn read(encoding: &str, bytes: &[u8], most: usize, piece: usize) -> Result<(Vec<u8>, bool)> {
        let mut body = Body::new(Some(encoding), most, "host")?;
        for piece in bytes.chunks(piece) {
            if !body.take(piece)? {
                break;
            }
        }
        body.end()
    }

    #[test]
    fn packed_bodies_come_out_whole_however_they_were_cut() {
        let text: Vec<u8> = (0..50_000_u32).flat_map(|at| (at * at).to_string().into_bytes()).collect();
        let mut zlib = write::ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let mut raw = write::DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(&text).unwrap();
        let mut twice = gzip(&text[..1000]);
        twice.extend(gzip(&text[1000..]));
        for (encoding, packed) in [
            ("gzip", gzip(&text)),
            ("x-gzip", twice),
            ("deflate", zlib.finish().unwrap()),
            ("Deflate", raw.finish().unwrap()),
            ("identity", text.clone()),
            ("", text.clone()),
        ] {
            for piece in [1, 7, 4096, usize::MAX] {
                assert_eq!(read(encoding, &packed, 1 << 20, piece).unwrap(), (text.clone(), false), "{encoding}");
            }
            assert_eq!(read(encoding, &packed, 100, 50).unwrap(), (text[..100].to_vec(), true), "{encoding}");
        }
    }

    #[test]
    fn bombs_broken_and_strange_bodies_are_typed_errors() {
        let bomb = gzip(&vec![b'a'; 64 << 20]);
        assert_eq!(read("gzip", &bomb, 1 << 20, 1400).unwrap_err().code, "compressed_bomb");
        assert_eq!(read("gzip", b"no gzip at all", 100, 3).unwrap_err().code, "invalid_body");
        let whole = gzip(b"text that ends too early");
        assert_eq!(read("gzip", &whole[..whole.len() - 9], 100, 3).unwrap_err().code, "invalid_body");
        assert_eq!(read("deflate", b"\xff\xff\xff", 100, 1).unwrap_err().code, "invalid_body");
        for encoding in ["br", "gzip, gzip", "zstd", "nonsense"] {
            assert_eq!(read(encoding, b"x", 100, 1).unwrap_err().code, "unsupported_encoding");
        }
        assert_eq!(read("gzip", b"", 100, 1).unwrap(), (Vec::new(), false));
    }
}
