//! Python's numbers to JSON's, digit by digit: underscores go, hexadecimal becomes decimal, nothing is rounded.

use std::fmt::Write as _;

/// Integers in another base are exact up to this many bits; longer ones are refused.
const BITS: u32 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    /// Zeros at the front that are not written yet.
    Zeros,
    Digits,
    /// Digits after zeros, as in a postal code: no number in Python, kept as a string.
    Text,
    Base,
    /// After a point at the front, which needs digits.
    FirstPoint,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// One number being read.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    phase: Phase,
    signed: bool,
    zeros: usize,
    underscore: bool,
    radix: u32,
    bits: u32,
    /// Nine decimal digits each, the least ones first.
    limbs: Vec<u32>,
}

impl Number {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Start, signed: false, zeros: 0, underscore: false, radix: 10, bits: 0, limbs: Vec::new() }
    }

    /// Whether it has a fraction or an exponent.
    pub(crate) fn float(&self) -> bool {
        matches!(self.phase, Phase::Point | Phase::Fraction | Phase::ExponentDigits)
    }

    /// Whether it is written as a string, because it is no number.
    pub(crate) fn text(&self) -> bool {
        self.phase == Phase::Text
    }

    fn leave_zeros(&mut self, out: &mut String) {
        if self.phase == Phase::Zeros {
            out.push('0');
        }
    }

    /// Takes the next byte, or says that the number ended before it.
    pub(crate) fn push(&mut self, byte: u8, out: &mut String) -> Result<bool, &'static str> {
        if byte == b'_' {
            let digits = matches!(
                self.phase,
                Phase::Zeros | Phase::Digits | Phase::Base | Phase::Fraction | Phase::ExponentDigits
            );
            if self.underscore || !digits {
                return Err("an underscore that is not between digits");
            }
            self.underscore = true;
            return Ok(true);
        }
        if self.phase == Phase::Base {
            return self.based(byte);
        }
        if self.underscore && !byte.is_ascii_digit() {
            let base = self.phase == Phase::Zeros && matches!(byte | 32, b'x' | b'o' | b'b');
            return Err(if base { "no such base" } else { "an underscore at the end of a number" });
        }
        match (self.phase, byte) {
            (Phase::Start, b'-' | b'+') if !self.signed => {
                self.signed = true;
                if byte == b'-' {
                    out.push('-');
                }
            }
            (Phase::Start, b'.') => {
                out.push_str("0.");
                self.phase = Phase::FirstPoint;
            }
            (Phase::Start | Phase::Zeros, b'0') => {
                self.zeros += 1;
                self.phase = Phase::Zeros;
            }
            (Phase::Zeros, b'x' | b'X' | b'o' | b'O' | b'b' | b'B') if self.zeros == 1 => {
                self.radix = match byte | 32 {
                    b'x' => 16,
                    b'o' => 8,
                    _ => 2,
                };
                self.phase = Phase::Base;
            }
            (Phase::Zeros, b'1'..=b'9') => {
                if self.signed {
                    return Err("zeros before a signed number");
                }
                out.push('"');
                out.extend(std::iter::repeat_n('0', self.zeros));
                out.push(char::from(byte));
                self.phase = Phase::Text;
            }
            (Phase::Start, b'1'..=b'9') => {
                out.push(char::from(byte));
                self.phase = Phase::Digits;
            }
            (Phase::Digits | Phase::Fraction | Phase::ExponentDigits | Phase::Text, b'0'..=b'9') => {
                out.push(char::from(byte));
            }
            (Phase::Digits | Phase::Zeros, b'.') => {
                self.leave_zeros(out);
                out.push('.');
                self.phase = Phase::Point;
            }
            (Phase::Point | Phase::FirstPoint, b'0'..=b'9') => {
                out.push(char::from(byte));
                self.phase = Phase::Fraction;
            }
            (Phase::Digits | Phase::Zeros | Phase::Point | Phase::Fraction, b'e' | b'E') => {
                self.leave_zeros(out);
                if self.phase == Phase::Point {
                    out.push('0');
                }
                out.push('e');
                self.phase = Phase::Exponent;
            }
            (Phase::Exponent, b'+' | b'-') => {
                out.push(char::from(byte));
                self.phase = Phase::ExponentSign;
            }
            (Phase::Exponent | Phase::ExponentSign, b'0'..=b'9') => {
                out.push(char::from(byte));
                self.phase = Phase::ExponentDigits;
            }
            (Phase::Start | Phase::FirstPoint | Phase::Exponent | Phase::ExponentSign, _) => {
                return Err("a number without digits");
            }
            (_, b'a'..=b'z' | b'A'..=b'Z' | b'.') => return Err("a number that goes on as something else"),
            _ => return Ok(false),
        }
        self.underscore = false;
        Ok(true)
    }

    /// One digit of another base; the sum is kept in decimal.
    fn based(&mut self, byte: u8) -> Result<bool, &'static str> {
        let Some(digit) = char::from(byte).to_digit(self.radix) else {
            return if byte.is_ascii_alphanumeric() || byte == b'.' {
                Err("a digit of another base")
            } else {
                Ok(false)
            };
        };
        self.underscore = false;
        if digit > 0 || self.bits > 0 {
            self.bits += self.radix.trailing_zeros();
        }
        if self.bits > BITS {
            return Err("an integer too large for its base");
        }
        let mut carry = u64::from(digit);
        for limb in &mut self.limbs {
            let value = u64::from(*limb) * u64::from(self.radix) + carry;
            *limb = (value % 1_000_000_000) as u32;
            carry = value / 1_000_000_000;
        }
        if carry > 0 || self.limbs.is_empty() {
            self.limbs.push(carry as u32);
        }
        Ok(true)
    }

    /// Writes what is still owed.
    pub(crate) fn end(&mut self, out: &mut String) -> Result<(), &'static str> {
        if self.underscore {
            return Err("an underscore at the end of a number");
        }
        match self.phase {
            Phase::Zeros | Phase::Point => out.push('0'),
            Phase::Text => out.push('"'),
            Phase::Base => {
                let mut limbs = self.limbs.iter().rev();
                let Some(first) = limbs.next() else { return Err("a number without digits") };
                out.push_str(&first.to_string());
                for limb in limbs {
                    // Writing to a string doesn't fail.
                    let _ = write!(out, "{limb:09}");
                }
            }
            Phase::Start | Phase::FirstPoint | Phase::Exponent | Phase::ExponentSign => {
                return Err("a number without digits");
            }
            Phase::Digits | Phase::Fraction | Phase::ExponentDigits => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, usize), &'static str> {
        let (mut number, mut out) = (Number::new(), String::new());
        for (at, byte) in text.bytes().enumerate() {
            if !number.push(byte, &mut out)? {
                number.end(&mut out)?;
                return Ok((out, at));
            }
        }
        number.end(&mut out)?;
        Ok((out, text.len()))
    }

    #[test]
    fn numbers_are_written_as_json_writes_them() {
        let huge = "9".repeat(300);
        for (text, json) in [
            ("1_000", "1000"),
            ("+5", "5"),
            ("-0", "-0"),
            ("00", "0"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("5.", "5.0"),
            ("5.e3", "5.0e3"),
            ("0.1E-7", "0.1e-7"),
            ("1_0.2_5", "10.25"),
            ("0xff", "255"),
            ("0X_FF", "255"),
            ("0b101", "5"),
            ("0o17", "15"),
            ("-0x10", "-16"),
            ("0xffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"),
            ("0x3b9aca00000000000000000", "1152921504606846976000000000"),
            ("02134", "\"02134\""),
            (&huge, &huge),
        ] {
            if text.starts_with("0x3b") {
                let value = u128::from_str_radix(&text[2..], 16).unwrap();
                assert_eq!(read(text), Ok((value.to_string(), text.len())));
                continue;
            }
            assert_eq!(read(text), Ok((json.to_owned(), text.len())), "{text}");
            assert!(serde_json::from_str::<Box<serde_json::value::RawValue>>(json).is_ok());
        }
        assert_eq!(read("12, 3"), Ok(("12".to_owned(), 2)));
        assert_eq!(read("0)"), Ok(("0".to_owned(), 1)));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "-", "--1", "1_", "1__0", "_1", "1e", "1e+", "0x", "0xg", "0b2", "1j", "12abc", "1.2.3", "-007", "0_x1",
        ] {
            assert!(read(text).is_err(), "{text}: {:?}", read(text));
        }
        assert!(read(&format!("0x{}", "f".repeat(65))).is_err());
        assert!(read(&format!("0x{}{}", "0".repeat(500), "f".repeat(64))).is_ok());
    }
}
