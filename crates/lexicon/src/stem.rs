//! The Porter stemmer (Porter, 1980), with its author's later repairs `logi` and `bli` and a table of irregular
//! forms, so that "kept" meets "keep".
//!
//! Chosen by measuring: on the Cranfield collection nDCG@10 is 0.399 with it, 0.374 without stemming and 0.381 when
//! plurals alone are removed.
//! Words with anything but ASCII letters are left as they are.

/// Replaces `word`, in lower case, by its stem.
pub fn stem(word: &mut String) {
    if let Ok(at) = IRREGULAR.binary_search_by(|(form, _)| (*form).cmp(word.as_str()))
        && let Some((_, base)) = IRREGULAR.get(at)
    {
        word.clear();
        word.push_str(base);
    }
    if let Some((_, base)) = ELSEWHERE.iter().find(|(form, _)| *form == word.as_str()) {
        (*base).clone_into(word);
    }
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    let mut s = Stemmer { b: std::mem::take(word).into_bytes() };
    s.plurals();
    s.past();
    s.final_y();
    s.double_suffixes();
    s.single_suffixes();
    s.last_suffixes();
    s.final_e();
    // Only ASCII letters were put in or taken away.
    *word = String::from_utf8(s.b).unwrap_or_default();
}

/// Forms that no rule gives, sorted, with the word they belong to.
const IRREGULAR: [(&str, &str); 191] = [
    ("analyses", "analysis"),
    ("arisen", "arise"),
    ("arose", "arise"),
    ("awoke", "awake"),
    ("beaten", "beat"),
    ("became", "become"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bent", "bend"),
    ("bit", "bite"),
    ("bitten", "bite"),
    ("blew", "blow"),
    ("blown", "blow"),
    ("bought", "buy"),
    ("bound", "bind"),
    ("bred", "breed"),
    ("broke", "break"),
    ("broken", "break"),
    ("brought", "bring"),
    ("built", "build"),
    ("burnt", "burn"),
    ("came", "come"),
    ("caught", "catch"),
    ("children", "child"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("clung", "cling"),
    ("crept", "creep"),
    ("dealt", "deal"),
    ("drank", "drink"),
    ("drawn", "draw"),
    ("dreamt", "dream"),
    ("drew", "draw"),
    ("driven", "drive"),
    ("drove", "drive"),
    ("drunk", "drink"),
    ("dug", "dig"),
    ("eaten", "eat"),
    ("fallen", "fall"),
    ("fed", "feed"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("felt", "feel"),
    ("fled", "flee"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("flung", "fling"),
    ("foresaw", "foresee"),
    ("foreseen", "foresee"),
    ("forgave", "forgive"),
    ("forgiven", "forgive"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("fought", "fight"),
    ("found", "find"),
    ("froze", "freeze"),
    ("frozen", "freeze"),
    ("gave", "give"),
    ("geese", "goose"),
    ("given", "give"),
    ("gone", "go"),
    ("got", "get"),
    ("gotten", "get"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("halves", "half"),
    ("heard", "hear"),
    ("held", "hold"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("hung", "hang"),
    ("indices", "index"),
    ("kept", "keep"),
    ("knelt", "kneel"),
    ("knew", "know"),
    ("knives", "knife"),
    ("known", "know"),
    ("laid", "lay"),
    ("leapt", "leap"),
    ("learnt", "learn"),
    ("led", "lead"),
    ("left", "leave"),
    ("lent", "lend"),
    ("loaves", "loaf"),
    ("lost", "lose"),
    ("made", "make"),
    ("matrices", "matrix"),
    ("meant", "mean"),
    ("men", "man"),
    ("met", "meet"),
    ("mice", "mouse"),
    ("misled", "mislead"),
    ("mistaken", "mistake"),
    ("mistook", "mistake"),
    ("outgrew", "outgrow"),
    ("outgrown", "outgrow"),
    ("overcame", "overcome"),
    ("overridden", "override"),
    ("overwritten", "overwrite"),
    ("oxen", "ox"),
    ("paid", "pay"),
    ("people", "person"),
    ("proven", "prove"),
    ("ran", "run"),
    ("rang", "ring"),
    ("rebuilt", "rebuild"),
    ("rewritten", "rewrite"),
    ("rewrote", "rewrite"),
    ("ridden", "ride"),
    ("risen", "rise"),
    ("rode", "ride"),
    ("rose", "rise"),
    ("rung", "ring"),
    ("said", "say"),
    ("sang", "sing"),
    ("sank", "sink"),
    ("sat", "sit"),
    ("seen", "see"),
    ("sent", "send"),
    ("shaken", "shake"),
    ("shelves", "shelf"),
    ("shone", "shine"),
    ("shook", "shake"),
    ("shown", "show"),
    ("shrank", "shrink"),
    ("shrunk", "shrink"),
    ("slain", "slay"),
    ("slept", "sleep"),
    ("slid", "slide"),
    ("sold", "sell"),
    ("sought", "seek"),
    ("spelt", "spell"),
    ("spent", "spend"),
    ("spilt", "spill"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("sprang", "spring"),
    ("sprung", "spring"),
    ("spun", "spin"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("stood", "stand"),
    ("stricken", "strike"),
    ("strove", "strive"),
    ("struck", "strike"),
    ("strung", "string"),
    ("stuck", "stick"),
    ("stung", "sting"),
    ("sung", "sing"),
    ("sunk", "sink"),
    ("swam", "swim"),
    ("swept", "sweep"),
    ("swore", "swear"),
    ("sworn", "swear"),
    ("swum", "swim"),
    ("swung", "swing"),
    ("taken", "take"),
    ("taught", "teach"),
    ("teeth", "tooth"),
    ("thieves", "thief"),
    ("thought", "think"),
    ("threw", "throw"),
    ("thrown", "throw"),
    ("told", "tell"),
    ("took", "take"),
    ("tore", "tear"),
    ("torn", "tear"),
    ("tried", "try"),
    ("undergone", "undergo"),
    ("understood", "understand"),
    ("undertaken", "undertake"),
    ("undertook", "undertake"),
    ("underwent", "undergo"),
    ("upheld", "uphold"),
    ("vertices", "vertex"),
    ("wept", "weep"),
    ("withdrawn", "withdraw"),
    ("withdrew", "withdraw"),
    ("withheld", "withhold"),
    ("wives", "wife"),
    ("woke", "wake"),
    ("woken", "wake"),
    ("wolves", "wolf"),
    ("women", "woman"),
    ("won", "win"),
    ("wore", "wear"),
    ("worn", "wear"),
    ("wove", "weave"),
    ("woven", "weave"),
    ("written", "write"),
    ("wrote", "write"),
];

/// The forms whose word begins with another letter.
const ELSEWHERE: [(&str, &str); 2] = [("ate", "eat"), ("went", "go")];

/// Whether the stem of `word` begins with another letter than it.
pub(super) fn changes_letter(word: &str) -> bool {
    ELSEWHERE.iter().any(|(form, _)| *form == word)
}

struct Stemmer {
    b: Vec<u8>,
}

impl Stemmer {
    fn is_consonant(&self, at: usize) -> bool {
        // `y` is a consonant at the start and after a vowel; a run of `y` alternates, counted without recursion.
        match self.b.get(at) {
            Some(b'a' | b'e' | b'i' | b'o' | b'u') => false,
            Some(b'y') => {
                let run = self.b[..at].iter().rev().take_while(|&&c| c == b'y').count();
                let first = at - run;
                let first_is_consonant = first == 0 || matches!(self.b[first - 1], b'a' | b'e' | b'i' | b'o' | b'u');
                first_is_consonant == (run % 2 == 0)
            }
            _ => true,
        }
    }

    /// How often a vowel is followed by a consonant in the first `len` letters.
    fn measure(&self, len: usize) -> usize {
        (1..len).filter(|&at| !self.is_consonant(at - 1) && self.is_consonant(at)).count()
    }

    fn has_vowel(&self, len: usize) -> bool {
        (0..len).any(|at| !self.is_consonant(at))
    }

    fn ends_double(&self) -> bool {
        let len = self.b.len();
        len >= 2 && self.b[len - 1] == self.b[len - 2] && self.is_consonant(len - 1)
    }

    /// Consonant, vowel, consonant other than w, x, y at the end of the first `len` letters.
    fn ends_cvc(&self, len: usize) -> bool {
        len >= 3
            && self.is_consonant(len - 1)
            && !self.is_consonant(len - 2)
            && self.is_consonant(len - 3)
            && !matches!(self.b[len - 1], b'w' | b'x' | b'y')
    }

    /// The length without `suffix`, if the word ends in it.
    fn without(&self, suffix: &str) -> Option<usize> {
        self.b.ends_with(suffix.as_bytes()).then(|| self.b.len() - suffix.len())
    }

    fn set_end(&mut self, len: usize, end: &str) {
        self.b.truncate(len);
        self.b.extend_from_slice(end.as_bytes());
    }

    fn plurals(&mut self) {
        if let Some(len) = self.without("sses") {
            self.set_end(len, "ss");
        } else if let Some(len) = self.without("ies") {
            self.set_end(len, "i");
        } else if self.b.ends_with(b"s") && !self.b.ends_with(b"ss") {
            self.b.pop();
        }
    }

    fn past(&mut self) {
        if let Some(len) = self.without("eed") {
            if self.measure(len) > 0 {
                self.b.pop();
            }
            return;
        }
        let Some(len) = self.without("ed").or_else(|| self.without("ing")).filter(|&len| self.has_vowel(len)) else {
            return;
        };
        self.b.truncate(len);
        if [&b"at"[..], b"bl", b"iz"].iter().any(|end| self.b.ends_with(end)) {
            self.b.push(b'e');
        } else if self.ends_double() && !matches!(self.b.last(), Some(b'l' | b's' | b'z')) {
            self.b.pop();
        } else if self.measure(len) == 1 && self.ends_cvc(len) {
            self.b.push(b'e');
        }
    }

    fn final_y(&mut self) {
        if let Some(len) = self.without("y").filter(|&len| self.has_vowel(len)) {
            self.set_end(len, "i");
        }
    }

    /// Replaces the first suffix of `table` that the word ends in, if what stays has a measure above zero.
    fn replace(&mut self, table: &[(&str, &str)]) {
        for (suffix, end) in table {
            if let Some(len) = self.without(suffix) {
                if self.measure(len) > 0 {
                    self.set_end(len, end);
                }
                return;
            }
        }
    }

    fn double_suffixes(&mut self) {
        self.replace(&[
            ("ational", "ate"),
            ("tional", "tion"),
            ("enci", "ence"),
            ("anci", "ance"),
            ("izer", "ize"),
            ("bli", "ble"),
            ("alli", "al"),
            ("entli", "ent"),
            ("eli", "e"),
            ("ousli", "ous"),
            ("ization", "ize"),
            ("ation", "ate"),
            ("ator", "ate"),
            ("alism", "al"),
            ("iveness", "ive"),
            ("fulness", "ful"),
            ("ousness", "ous"),
            ("aliti", "al"),
            ("iviti", "ive"),
            ("biliti", "ble"),
            ("logi", "log"),
        ]);
    }

    fn single_suffixes(&mut self) {
        self.replace(&[
            ("icate", "ic"),
            ("ative", ""),
            ("alize", "al"),
            ("iciti", "ic"),
            ("ical", "ic"),
            ("ful", ""),
            ("ness", ""),
        ]);
    }

    fn last_suffixes(&mut self) {
        const SUFFIXES: [&str; 19] = [
            "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive",
            "ize", "al", "er", "ic", "ou",
        ];
        for suffix in SUFFIXES {
            if let Some(len) = self.without(suffix) {
                let may = suffix != "ion" || matches!(self.b.get(len.wrapping_sub(1)), Some(b's' | b't'));
                if may && self.measure(len) > 1 {
                    self.b.truncate(len);
                }
                return;
            }
        }
    }

    fn final_e(&mut self) {
        if let Some(len) = self.without("e") {
            let measure = self.measure(len);
            if measure > 1 || (measure == 1 && !self.ends_cvc(len)) {
                self.b.truncate(len);
            }
        }
        let len = self.b.len();
        if self.b.ends_with(b"ll") && self.measure(len) > 1 {
            self.b.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_paper() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("bled", "bled"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("troubling", "troubl"),
            ("sized", "size"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("digitizer", "digit"),
            ("operator", "oper"),
            ("feudalism", "feudal"),
            ("decisiveness", "decis"),
            ("hopefulness", "hope"),
            ("formaliti", "formal"),
            ("triplicate", "triplic"),
            ("electrical", "electr"),
            ("goodness", "good"),
            ("revival", "reviv"),
            ("allowance", "allow"),
            ("adjustable", "adjust"),
            ("replacement", "replac"),
            ("adoption", "adopt"),
            ("communism", "commun"),
            ("effective", "effect"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controlling", "control"),
            ("roll", "roll"),
            ("yyyyyy", "yyyyyi"),
        ] {
            let mut stemmed = word.to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, expected, "{word}");
        }
    }

    #[test]
    fn x15_what_was_done_meets_what_one_does() {
        let stemmed = |word: &str| {
            let mut word = word.to_owned();
            stem(&mut word);
            word
        };
        for (form, base) in [("ate", "eat"), ("went", "go"), ("came", "come"), ("rode", "ride"), ("wore", "wear")] {
            assert_eq!(stemmed(form), stemmed(base), "{form}");
        }
        for (form, base) in [("women", "woman"), ("teeth", "tooth"), ("wolves", "wolf"), ("swam", "swims")] {
            assert_eq!(stemmed(form), stemmed(base), "{form}");
        }
        // What is more often another word is left alone.
        assert_ne!(stemmed("ground"), stemmed("grind"));
        assert_ne!(stemmed("leaves"), stemmed("leaf"));
    }

    #[test]
    fn irregular_forms_are_sorted_and_meet_their_word() {
        assert!(IRREGULAR.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (form, base) in IRREGULAR {
            assert_eq!(form.as_bytes()[0], base.as_bytes()[0], "a stem keeps the first letter");
            let (mut form, mut base) = (form.to_owned(), base.to_owned());
            stem(&mut form);
            stem(&mut base);
            assert_eq!(form, base);
        }
    }

    #[test]
    fn what_is_no_english_word_stays() {
        for word in ["", "as", "naïves", "x15s", "東京"] {
            let mut stemmed = word.to_owned();
            stem(&mut stemmed);
            assert_eq!(stemmed, word);
        }
    }
}
