//! Recorded answers of real providers, played over sockets: what comes out does not depend on how the bytes were cut.

use loopwright_wire::{decode_response, stream::Stream};
use serde_json::Value;

use super::*;

/// The recorded answers of one wire: status, content type, body.
fn recordings(folder: &str) -> Vec<(u16, String, String)> {
    let Some(root) = loopwright_testing::data::shared(&format!("recorded/{folder}")) else { return Vec::new() };
    let files = std::fs::read_dir(root).unwrap();
    let mut all = Vec::new();
    for file in files.flatten() {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let exchanges: Vec<Value> = serde_json::from_str(&text).unwrap();
        for exchange in exchanges {
            let status = exchange["status"].as_u64().unwrap() as u16;
            let kind = exchange["content_type"].as_str().unwrap_or_default().to_owned();
            let body = match &exchange["response"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            all.push((status, kind, body));
        }
    }
    all
}

fn decoded(endpoint: &Endpoint, kind: &str, body: &str) -> Result<Response, Failure> {
    if kind.starts_with("text/event-stream") {
        let mut stream = Stream::new(endpoint.wire);
        let mut deltas = Vec::new();
        stream.feed(body.as_bytes(), &mut deltas)?;
        stream.finish(&mut deltas)
    } else {
        decode_response(endpoint.wire, body)
    }
}

#[tokio::test]
async fn recorded_answers_survive_any_chunking() {
    for (model, folder) in MODELS.iter().zip(["anthropic", "openai-chat", "openai-responses"]) {
        let (mut whole, mut streamed, mut refused) = (0, 0, 0);
        for (status, kind, body) in recordings(folder) {
            let chunks: &[Option<usize>] = if body.len() > 20_000 { &[None, Some(997)] } else { &[None, Some(13)] };
            for chunk in chunks {
                let reply = Reply { chunk: *chunk, ..Reply::recorded(status, kind.as_str(), body.as_str()) };
                let server = WireServer::start(Script::of([reply])).unwrap();
                let endpoint = endpoint(&server, model);
                let stream = kind.starts_with("text/event-stream");
                let (outcome, shown) = ask(&server, model, stream).await;
                if status != 200 {
                    let failure = outcome.unwrap_err().failure;
                    assert_eq!(failure.status, Some(status), "{failure:?}");
                    assert!(!failure.message.contains("no details"), "{failure:?}");
                    refused += 1;
                    continue;
                }
                match decoded(&endpoint, &kind, &body) {
                    Ok(expected) => {
                        assert_eq!(outcome.unwrap(), expected, "{model} {chunk:?}");
                        if stream {
                            assert_eq!(shown, expected.message.prose(), "{model} {chunk:?}");
                            streamed += 1;
                        } else {
                            whole += 1;
                        }
                    }
                    // Answers of other paths, such as counts of tokens.
                    Err(expected) => assert_eq!(outcome.unwrap_err().failure.kind, expected.kind, "{body:.200}"),
                }
            }
        }
        eprintln!("{folder}: {whole} whole, {streamed} streamed, {refused} refused");
    }
}
