//! A server that plays a cloud: it reads a request whole, and answers as its rules say, in pieces of any size.

use super::*;

/// A request as it came.
pub(super) struct Asked {
    pub(super) method: String,
    /// The path with its query.
    pub(super) path: String,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The value of a parameter of the query.
    pub(super) fn query(&self, key: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(known, _)| *known == key)
            .map(|(_, value)| value)
    }
}

/// An answer: status, content type and other headers, body.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

pub(super) fn json(status: u16, body: &serde_json::Value) -> Given {
    let headers = vec![("content-type", "application/json".to_owned())];
    Given { status, headers, body: body.to_string().into_bytes() }
}

/// Events of a stream, without names.
pub(super) fn events(data: &[serde_json::Value], ends: bool) -> Given {
    let mut body = data.iter().fold(String::new(), |body, data| body + "data: " + &data.to_string() + "\n\n");
    if ends {
        body.push_str("data: [DONE]\n\n");
    }
    let headers = vec![("content-type", "text/event-stream".to_owned())];
    Given { status: 200, headers, body: body.into_bytes() }
}

/// A double that runs as long as its test, with what it was asked.
pub(super) struct Double {
    pub(super) url: String,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
}

impl Double {
    /// Starts a double that sends bodies in pieces of `piece` bytes.
    pub(super) async fn start(piece: usize, rules: impl Fn(&Asked) -> Given + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, rules) = (asked.clone(), Arc::new(rules));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (kept, rules) = (kept.clone(), rules.clone());
                tokio::spawn(async move {
                    let _ = socket.set_nodelay(true);
                    while let Some(asked) = read(&mut socket).await {
                        let given = rules(&asked);
                        kept.lock().unwrap().push(asked);
                        if write(&mut socket, &given, piece).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, asked }
    }
}

async fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut one = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.split("\r\n");
            let mut first = lines.next()?.split(' ');
            let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
            while bytes.len() < end + 4 + length {
                match socket.read(&mut one).await {
                    Ok(count) if count > 0 => bytes.extend_from_slice(&one[..count]),
                    _ => return None,
                }
            }
            let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
            return Some(Asked { method, path, headers, body });
        }
        match socket.read(&mut one).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&one[..count]),
            _ => return None,
        }
    }
}

/// The words of the 400 that answers anything but a request to a model; a test finds them in what failed.
pub(super) const ILLEGAL: &str = "no request of a model";

/// The next request, if it is one that a provider takes; any other is answered with 400.
pub(super) async fn taken(socket: &mut TcpStream) -> Option<Asked> {
    let asked = read(socket).await?;
    if let Err(why) = judged(&asked) {
        let refusal = json(400, &serde_json::json!({"error": {"message": format!("{ILLEGAL}: {why}")}}));
        let _ = write(socket, &refusal, usize::MAX).await;
        return None;
    }
    Some(asked)
}

/// Judges a request to a model by the wire that its path names: the method, the content type, the key, and a body that
/// holds a user's words and no member that the codec does not know.
fn judged(asked: &Asked) -> Result<(), String> {
    let path = asked.path.split('?').next().unwrap_or_default();
    let ends = [
        ("/v1/messages", Wire::Anthropic),
        ("/v1/chat/completions", Wire::OpenaiChat),
        ("/v1/responses", Wire::OpenaiResponses),
        ("m:generateContent", Wire::Gemini),
        ("m:streamGenerateContent", Wire::Gemini),
        ("/model/m/converse", Wire::Bedrock),
        ("/model/m/converse-stream", Wire::Bedrock),
    ];
    let (_, wire) = ends.into_iter().find(|(end, _)| path.ends_with(end)).ok_or_else(|| format!("at {path}"))?;
    let keys = ["authorization", "x-api-key", "x-goog-api-key"];
    let request = loopwright_wire::decode_request(wire, &asked.body).map_err(|error| error.message)?;
    let known = [
        (asked.method == "POST", "method"),
        (asked.header("content-type") == Some("application/json"), "content-type"),
        (keys.iter().any(|key| asked.header(key).is_some_and(|value| value.ends_with(KEY))), "key"),
        (request.messages.iter().map(loopwright_base::message::Message::prose).eq(["hello"]), "messages"),
        (request.max_tokens == Some(100), "limit"),
        (encode_request(wire, &request).is_ok_and(|again| again == asked.body), "members"),
    ];
    known.into_iter().find(|(fits, _)| !fits).map_or(Ok(()), |(_, what)| Err(format!("{what} of {}", asked.body)))
}

async fn write(socket: &mut TcpStream, given: &Given, piece: usize) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\ntransfer-encoding: chunked\r\n", given.status);
    for (name, value) in &given.headers {
        head = head + name + ": " + value + "\r\n";
    }
    socket.write_all((head + "\r\n").as_bytes()).await?;
    for part in given.body.chunks(piece.max(1)) {
        socket.write_all(format!("{:x}\r\n", part.len()).as_bytes()).await?;
        socket.write_all(part).await?;
        socket.write_all(b"\r\n").await?;
    }
    socket.write_all(b"0\r\n\r\n").await
}

/// An endpoint with these variables of the environment.
pub(super) fn endpoint_of(model: &str, env: &[(&str, &str)]) -> loopwright_base::error::Result<Endpoint> {
    let options = EndpointOptions::default();
    let value = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Endpoint::resolve(model, &options, value).map(|(endpoint, _)| endpoint)
}

/// Asks the model, as a turn does; what was shown comes with the answer.
pub(super) async fn asks(endpoint: &Endpoint, request: &Request) -> (Result<Response, CallFailure>, String) {
    let shown = Mutex::new(String::new());
    let watch = |deltas: Vec<Delta>| {
        for delta in deltas {
            if let Delta::Text { text, .. } = delta {
                shown.lock().unwrap().push_str(&text);
            }
        }
    };
    let client = Client::default();
    let answer = loopwright_drive::ask::ask(&client, endpoint, &Timeouts::default(), request, 1, watch).await;
    (answer, shown.into_inner().unwrap())
}
