//! Follows a bare object that was no call to its end, so that nothing inside it is taken for one.

/// Brackets and strings, no more of JSON than that.
#[derive(Debug, Default)]
pub(super) struct Walker {
    depth: usize,
    string: bool,
    escaped: bool,
    blank: bool,
}

impl Walker {
    /// Whether the next byte stands in a string.
    pub(super) const fn in_string(&self) -> bool {
        self.string
    }

    /// Something stands here that isn't read.
    pub(super) const fn skipped(&mut self) {
        self.blank = false;
    }

    /// Reads on, to where the object is over, or a blank line says that it was none.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' {
                if self.blank {
                    return Some(at + 1);
                }
                self.blank = true;
            } else if !byte.is_ascii_whitespace() {
                self.blank = false;
            }
            if self.string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
