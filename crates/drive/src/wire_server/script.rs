//! Scripts of a wire server: replies in order, with delays and faults. All of it reads from JSON.

use serde::{Deserialize, Serialize};

use loopwright_base::{
    json::Raw,
    message::{Block, Message, Role, StopReason, ToolUse, Usage},
    request::Response,
};

/// A script: the replies of a server, and the order in which they are sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The replies.
    pub replies: Vec<Reply>,
    /// A request gets the reply whose number is that of the assistant's turns in its history, so that many runs can
    /// play the same script at once. Otherwise replies are used up in order, whoever asks.
    pub by_turn: bool,
    /// The last reply is repeated when the script is used up.
    pub repeat_last: bool,
    /// Requests without this key are answered with 401.
    pub key: Option<String>,
    /// Whoever was given at the start is asked before each reply; else only where the server knows no answer.
    pub strict: bool,
    /// Requests beyond these limits are answered with 429.
    pub rates: Option<Rates>,
    /// Answers over the Responses API are kept by their ids, and a request may go on from one that is known.
    pub stored: bool,
    /// The status with which a WebSocket is refused; without one it opens.
    pub refuse_sockets: Option<u16>,
    /// Answers that one WebSocket gives; the next request over it hears that the connection has reached its limit.
    pub socket_answers: Option<usize>,
}

/// The limits of a server, as providers have them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// Requests that are under way at once.
    pub concurrency: Option<usize>,
    /// Requests of a minute.
    pub requests_per_minute: Option<usize>,
    /// Tokens of a minute, counted as the provider of each wire documents it. Short answers say in their usage what was
    /// counted of the prompt; a whole response that says another one counts as it says.
    pub tokens_per_minute: Option<u64>,
    /// Seconds of that minute.
    pub minute: f64,
    /// The minutes follow each other; else the last one counts, whenever it is looked at.
    pub fixed: bool,
    /// No headers say what is left.
    pub silent: bool,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            concurrency: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            minute: 60.0,
            fixed: false,
            silent: false,
        }
    }
}

impl Script {
    /// Replies that are used up in order.
    pub fn of(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: replies.into_iter().collect(), ..Self::default() }
    }

    /// A reply for each turn of a run.
    pub fn by_turn(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { by_turn: true, ..Self::of(replies) }
    }

    /// A script of one reply for ever.
    pub fn always(reply: Reply) -> Self {
        Self { repeat_last: true, ..Self::of([reply]) }
    }
}

/// A reply of the script.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// The content of the reply.
    pub answer: Answer,
    /// Milliseconds before the first byte.
    pub delay_ms: u64,
    /// Milliseconds between two events, or two pieces if `chunk` is set.
    pub chunk_delay_ms: u64,
    /// Bytes of text in one delta of a stream.
    pub piece: usize,
    /// Cuts the body into pieces of that many bytes, wherever that falls.
    pub chunk: Option<usize>,
    /// The fault of the reply.
    pub fault: Option<Fault>,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            answer: Answer::Text("ok".to_owned()),
            delay_ms: 0,
            chunk_delay_ms: 0,
            piece: 16,
            chunk: None,
            fault: None,
        }
    }
}

impl Reply {
    /// Plain text that ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self { answer: Answer::Text(text.into()), ..Self::default() }
    }

    /// A whole response.
    pub fn message(response: Response) -> Self {
        Self { answer: Answer::Message(Box::new(response)), ..Self::default() }
    }

    /// An answer as it was recorded.
    pub fn recorded(status: u16, content_type: impl Into<String>, body: impl Into<String>) -> Self {
        let answer = Answer::Recorded { status, content_type: content_type.into(), body: body.into() };
        Self { answer, ..Self::default() }
    }

    /// A refusal with an error status.
    pub fn status(status: u16) -> Self {
        Self::default().fault(Fault::Status { status, retry_after: None, message: None, should_retry: None })
    }

    /// Returns the reply with a fault.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }
}

/// The content of a reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A response, written in the protocol of the request; streamed if the request asks for that. Its id and model
    /// are filled in where they are empty.
    Message(Box<Response>),
    /// Plain text that ends the turn, written likewise.
    Text(String),
    /// Tool uses, after some text or none, written likewise.
    ToolUses {
        /// The text before.
        #[serde(default)]
        text: String,
        /// The tool uses.
        calls: Vec<Call>,
    },
    /// These bytes, whatever was asked.
    Recorded {
        /// The status.
        status: u16,
        /// The content type.
        content_type: String,
        /// The body.
        body: String,
    },
}

/// A tool use, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    #[serde(default = "Raw::empty_object")]
    pub input: Raw,
    /// The id; `call_` and the place of the call if there is none.
    #[serde(default)]
    pub id: Option<String>,
}

impl Answer {
    pub(super) fn response(&self) -> Option<Response> {
        let of = |content: Vec<Block>, stop, length: usize| Response {
            id: String::new(),
            model: String::new(),
            message: Message::new(Role::Assistant, content),
            stop,
            usage: Usage { input: 10, output: 1 + length as u64 / 4, ..Usage::default() },
            extra: None,
            adapted: Vec::new(),
        };
        match self {
            Self::Message(response) => Some(response.as_ref().clone()),
            Self::Text(text) => Some(of(vec![Block::text(text.as_str())], StopReason::EndTurn, text.len())),
            Self::ToolUses { text, calls } => {
                let mut content = Vec::with_capacity(calls.len() + 1);
                if !text.is_empty() {
                    content.push(Block::text(text.as_str()));
                }
                let mut length = text.len();
                for (place, call) in calls.iter().enumerate() {
                    let id = call.id.clone().unwrap_or_else(|| format!("call_{place}"));
                    length += call.input.text().len();
                    content.push(Block::ToolUse(ToolUse::from_text(id, &*call.name, call.input.text().to_owned())));
                }
                Some(of(content, StopReason::ToolUse, length))
            }
            Self::Recorded { .. } => None,
        }
    }
}

/// A fault of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// An error status, in the provider's shape.
    Status {
        /// The status.
        status: u16,
        /// The value of the header `retry-after`.
        #[serde(default)]
        retry_after: Option<String>,
        /// The words.
        #[serde(default)]
        message: Option<String>,
        /// The value of the header `x-should-retry`.
        #[serde(default)]
        should_retry: Option<bool>,
    },
    /// A redirection.
    Redirect {
        /// The address.
        location: String,
    },
    /// The connection is reset after that many events.
    CutAfter {
        /// Events that are sent before.
        events: usize,
    },
    /// The connection is reset after that many bytes of the body.
    CutBytes {
        /// Bytes that are sent before.
        bytes: usize,
    },
    /// The stream goes silent after that many events, and stays open.
    StallAfter {
        /// Events that are sent before.
        events: usize,
    },
    /// The stream ends in good order after that many events, without the last ones.
    EndAfter {
        /// Events that are sent.
        events: usize,
    },
    /// A provider's error event inside the stream; an error 500 where no stream was asked for.
    ErrorEvent {
        /// Events that are sent before.
        after_events: usize,
    },
    /// A web page with status 200.
    NotJson,
    /// JSON that breaks off, in a body of the right length, with status 200.
    BrokenJson,
    /// Bytes that are not HTTP.
    NotHttp,
    /// The connection is accepted, and never answered.
    Hang,
    /// The connection is closed without an answer.
    Close,
    /// Status 200 and nothing else.
    EmptyBody,
    /// The body comes a few bytes at a time.
    SlowBytes {
        /// Bytes in one piece.
        bytes: usize,
        /// Milliseconds between two.
        delay_ms: u64,
    },
}
