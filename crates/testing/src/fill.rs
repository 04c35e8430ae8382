//! Values made from their form: `ghp_{36:an}` is filled with 36 letters and digits, so that no line of the project
//! looks like a key to those who scan it.

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    /// Characters of a class: `an`, `lo`, `up`, `hex`, `num`, `b32`, `bech`, `b64`, `url`.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn string(&mut self, length: usize, class: &str) -> String {
        let digits = "0123456789";
        let small = "abcdefghijklmnopqrstuvwxyz";
        let capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let letters: Vec<char> = match class {
            "an" => format!("{capital}{small}{digits}"),
            "lo" => format!("{small}{digits}"),
            "up" => format!("{capital}{digits}"),
            "hex" => "0123456789abcdef".to_owned(),
            "num" => digits.to_owned(),
            "b32" => format!("{capital}234567"),
            "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
            "b64" => format!("{capital}{small}{digits}+/"),
            "url" => format!("{capital}{small}{digits}_-"),
            other => panic!("no class {other}"),
        }
        .chars()
        .collect();
        (0..length).map(|_| letters[self.roll(letters.len())]).collect()
    }

    /// Fills in `{36:an}` and the like; other braces stay, and `\n` becomes the end of a line.
    pub fn fill(&mut self, template: &str) -> String {
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let place = rest[at + 1..].split_once('}').and_then(|(inside, after)| {
                let (length, class) = inside.split_once(':')?;
                Some((length.parse().ok()?, class, after))
            });
            if let Some((length, class, after)) = place {
                out.push_str(&self.string(length, class));
                rest = after;
            } else {
                out.push('{');
                rest = &rest[at + 1..];
            }
        }
        out.push_str(rest);
        out.replace("\\n", "\n")
    }
}
