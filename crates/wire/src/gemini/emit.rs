//! Answers as the chunks that the provider would stream: for servers in tests.
//!
//! Reading the chunks back gives the same response, whatever the size of the pieces.

use super::{
    content::write_parts,
    part::{PartPlace, fits},
    response::AnswerWriter,
    stream::grown,
};
use loopwright_base::{
    message::{Block, Text, Thinking},
    request::Response,
    text::pieces,
};

/// The chunks (name, data) of the answer, its bare text in pieces of about `piece` bytes. No data holds a line break.
pub fn encode_stream(response: &Response, piece: usize) -> Vec<(String, String)> {
    let write = AnswerWriter::new(response);
    let mut chunks: Vec<Vec<Block>> = Vec::new();
    let blocks: Vec<&Block> =
        response.message.content.iter().filter(|block| fits(block, PartPlace::AsItCame)).collect();
    let mut before: Option<&Block> = None;
    for block in blocks {
        let mut pieces = cut(block, piece.max(1)).into_iter();
        // A text behind another is a block of its own where both stand in one chunk.
        if before.is_some_and(|before| grown(&mut before.clone(), block, 0).is_some())
            && let Some(chunk) = chunks.last_mut()
        {
            chunk.extend(pieces.next());
        }
        chunks.extend(pieces.map(|piece| vec![piece]));
        before = Some(block);
    }
    let mut list: Vec<(String, String)> = Vec::with_capacity(chunks.len() + 1);
    let mut push = |data: String| {
        // Between the tokens of JSON a line break is as good as a space; inside strings there are none.
        let data = if data.contains(['\n', '\r']) { data.replace(['\n', '\r'], " ") } else { data };
        list.push((String::new(), data));
    };
    for chunk in &chunks {
        let mut parts = String::new();
        write_parts(&mut parts, chunk, PartPlace::AsItCame);
        let content = write.content(Some(&parts), false);
        push(write.chunk(write.candidate(content.as_deref(), false).as_deref(), false));
    }
    let content = write.content(chunks.is_empty().then_some("[]"), true);
    push(write.chunk(write.candidate(content.as_deref(), true).as_deref(), true));
    list
}

/// The pieces of a block: of text and thoughts that grow, many; of everything else, the block.
fn cut(block: &Block, piece: usize) -> Vec<Block> {
    let grows = grown(&mut block.clone(), block, 0).is_some();
    let texts = |text: &str| -> Vec<String> { pieces(text, piece).map(str::to_owned).collect() };
    match block {
        Block::Text(text) if grows && !text.text.is_empty() => {
            texts(&text.text).into_iter().map(|text| Block::Text(Text { text, extra: None })).collect()
        }
        Block::Thinking(thinking) if grows && !thinking.text.is_empty() => {
            let piece = |text| Block::Thinking(Thinking { text, ..thinking.clone() });
            texts(&thinking.text).into_iter().map(piece).collect()
        }
        block => vec![block.clone()],
    }
}
