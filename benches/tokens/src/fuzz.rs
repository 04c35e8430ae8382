//! Drawn texts, ours against `tiktoken-rs`: the tokens must be the same, and the count their number.

use loopwright_tokens::{cl100k_base, o200k_base};

use crate::texts::Draw;

const PARTS: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "/",
    "//",
    "'",
    "'s",
    "'S",
    "'ll",
    "'RE",
    "'ve",
    "\u{17f}",
    "a",
    "Z",
    "The",
    "the",
    "HTTP",
    "word",
    "camelCase",
    "1",
    "12",
    "12345",
    "(",
    ")",
    "\"",
    ".",
    ",",
    "...",
    "==",
    "{",
    "_",
    "-",
    "\0",
    "\u{b}",
    "\u{7f}",
    "中",
    "北京",
    "、",
    "。",
    "ー",
    "안녕",
    "д",
    "Да",
    "é",
    "É",
    "\u{301}",
    "\u{fe0f}",
    "❤",
    "🦀",
    "ʰ",
    "ǅ",
    "٣",
    "²",
    "½",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{85}",
    "ा",
    "क",
    "ไทย",
    "<|endoftext|>",
    "        ",
    "我们的",
    "结果",
    "解决",
];

fn text(draw: &mut Draw, text: &mut String) {
    text.clear();
    let parts = 1 + draw.below(9);
    for _ in 0..parts {
        match draw.below(8) {
            0..3 => text.push_str(PARTS[draw.below(PARTS.len())]),
            3 => (0..1 + draw.below(12)).for_each(|_| text.push(char::from(b' ' + draw.below(95) as u8))),
            4 => (0..1 + draw.below(14)).for_each(|_| text.push(char::from(b'a' + draw.zipf(26) as u8))),
            5 => (0..1 + draw.below(9)).for_each(|_| {
                text.push(char::from_u32(0x4e00 + draw.zipf(0x5200) as u32).unwrap_or(' '));
            }),
            6 => text.extend(char::from_u32(draw.zipf(0x11_0000) as u32)),
            _ => (0..1 + draw.below(6)).for_each(|_| text.extend(char::from_u32(0x3000 + draw.below(0xb000) as u32))),
        }
    }
}

/// Panics at the first text on which the two differ.
pub fn run(cases: u64, threads: u64) {
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let (o200k, cl100k) = (tiktoken_rs::o200k_base_singleton(), tiktoken_rs::cl100k_base_singleton());
                let (mut draw, mut drawn) = (Draw(thread << 40), String::new());
                for case in 0..cases / threads {
                    text(&mut draw, &mut drawn);
                    let (ours, other) = if case & 1 == 0 { (o200k_base(), o200k) } else { (cl100k_base(), cl100k) };
                    let expected = other.encode_ordinary(&drawn);
                    assert_eq!(ours.count(&drawn), expected.len(), "{} {drawn:?}", ours.name());
                    assert_eq!(ours.encode(&drawn), expected, "{} {drawn:?}", ours.name());
                }
            });
        }
    });
    println!("{cases} drawn texts, every other one in each encoding: no difference");
}
