//! The lower limit: the same conversation with nothing but reqwest, one thread and typed JSON.
//!
//! It has no policy, no hooks, no validation and no log, so it isn't an agent loop; it says what the HTTP client and
//! the kernel cost, and prints the same JSON line as the Python runners.

use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use loopwright_peers_server::answer::FINAL;
use serde::Deserialize;

type Failure = Box<dyn Error>;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "delta")]
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    arguments: String,
}

#[derive(Deserialize)]
struct Arguments {
    key: String,
}

struct Options {
    base_url: String,
    runs: usize,
    turns: usize,
    stream: bool,
    seconds: f64,
}

fn options() -> Result<Options, Failure> {
    let mut found = Options { base_url: String::new(), runs: 1, turns: 10, stream: false, seconds: 0.0 };
    let mut rest = std::env::args().skip(1);
    while let Some(name) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--base-url" => found.base_url = value()?,
            "--runs" => found.runs = value()?.parse()?,
            "--turns" => found.turns = value()?.parse()?,
            "--seconds" => found.seconds = value()?.parse()?,
            "--stream" => found.stream = true,
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(found)
}

const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"lookup","description":"Look a key up.","parameters":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}}]"#;

/// One conversation; the number of stream events seen, or why it isn't what was asked for.
async fn run(client: &reqwest::Client, url: &str, turns: usize, stream: bool) -> Result<u64, Failure> {
    let options = if stream { r#","stream":true,"stream_options":{"include_usage":true}"# } else { "" };
    let mut messages = String::from(r#"{"role":"user","content":"Look every key up, then say so."}"#);
    let mut calls = 0;
    let mut events = 0;
    loop {
        let body = format!(r#"{{"model":"fake","messages":[{messages}],{TOOLS}{options}}}"#);
        let request = client.post(url).header("content-type", "application/json").header("authorization", "Bearer k");
        let response = request.body(body).send().await?.error_for_status()?;
        let message = if stream {
            let (message, count) = collect(response).await?;
            events += count;
            message
        } else {
            let whole: Completion = serde_json::from_slice(&response.bytes().await?)?;
            whole.choices.into_iter().next().ok_or("no choice")?.message
        };
        if message.tool_calls.is_empty() {
            let good = calls == turns && message.content.as_deref() == Some(FINAL);
            return if good { Ok(events) } else { Err(format!("ended after {calls} calls").into()) };
        }
        let mut results = String::new();
        messages.push_str(r#",{"role":"assistant","content":null,"tool_calls":["#);
        for (index, call) in message.tool_calls.iter().enumerate() {
            calls += 1;
            let arguments: Arguments = serde_json::from_str(&call.function.arguments)?;
            let comma = if index == 0 { "" } else { "," };
            write!(
                messages,
                r#"{comma}{{"id":"{}","type":"function","function":{{"name":"lookup","arguments":{}}}}}"#,
                call.id,
                serde_json::to_string(&call.function.arguments)?
            )?;
            write!(
                results,
                r#",{{"role":"tool","tool_call_id":"{}","content":"value of {}"}}"#,
                call.id, arguments.key
            )?;
        }
        messages.push_str("]}");
        messages.push_str(&results);
    }
}

/// Joins the deltas of a stream.
async fn collect(response: reqwest::Response) -> Result<(Message, u64), Failure> {
    let mut whole = Message { content: None, tool_calls: Vec::new() };
    let mut buffer: Vec<u8> = Vec::with_capacity(4 << 10);
    let mut events = 0;
    let mut body = response.bytes_stream();
    while let Some(bytes) = body.next().await {
        buffer.extend_from_slice(&bytes?);
        let mut start = 0;
        while let Some(length) = memchr::memmem::find(&buffer[start..], b"\n\n") {
            let frame = &buffer[start..start + length];
            start += length + 2;
            let data = frame.strip_prefix(b"data: ").ok_or("not a data frame")?;
            if data == b"[DONE]" {
                continue;
            }
            events += 1;
            let part: Completion = serde_json::from_slice(data)?;
            let Some(choice) = part.choices.into_iter().next() else { continue };
            if let Some(text) = choice.message.content {
                whole.content.get_or_insert_default().push_str(&text);
            }
            for call in choice.message.tool_calls {
                if call.id.is_empty() {
                    let last = whole.tool_calls.last_mut().ok_or("a delta before its call")?;
                    last.function.arguments.push_str(&call.function.arguments);
                } else {
                    whole.tool_calls.push(call);
                }
            }
        }
        buffer.drain(..start);
    }
    Ok((whole, events))
}

/// CPU time of this process so far, user and system.
#[allow(unsafe_code)] // the standard library has no getrusage
fn cpu() -> f64 {
    // SAFETY: rusage is plain data, and the pointer is valid for the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A line of `/proc/self/status` in KB; 0 where there is no such file.
fn status_kb(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim_matches([':', '\t', ' ']).split(' ').next()?.parse().ok()).unwrap_or(0)
}

fn main() -> Result<(), Failure> {
    let options = options()?;
    let url = format!("{}/chat/completions", options.base_url);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = reqwest::Client::builder().http1_only().pool_max_idle_per_host(usize::MAX).build()?;
        run(&client, &url, options.turns, options.stream).await?;
        drop(std::fs::write("/proc/self/clear_refs", "5"));
        let (rss, before, start) = (status_kb("VmRSS"), cpu(), Instant::now());
        let (mut batches, mut failed, mut events) = (0_u32, 0_u32, 0_u64);
        let mut first_error = String::new();
        while batches == 0 || start.elapsed() < Duration::from_secs_f64(options.seconds) {
            batches += 1;
            let mut running: FuturesUnordered<_> =
                (0..options.runs).map(|_| run(&client, &url, options.turns, options.stream)).collect();
            while let Some(result) = running.next().await {
                match result {
                    Ok(count) => events += count,
                    Err(error) => {
                        failed += 1;
                        first_error = error.to_string();
                    }
                }
            }
        }
        let (wall, used) = (start.elapsed().as_secs_f64(), cpu() - before);
        let turns = f64::from(batches) * options.runs as f64 * (options.turns + 1) as f64;
        let line = serde_json::json!({
            "rival": "raw reqwest", "runs": options.runs, "turns": options.turns + 1, "stream": options.stream,
            "batches": batches, "failed": failed, "error": first_error, "events": events, "events_turn": events as f64 / turns,
            "cpu_s": used, "wall_s": wall, "cpu_ms_turn": used * 1e3 / turns, "wall_ms_turn": wall * 1e3 / turns,
            "turns_s": turns / wall, "rss_kb_run": status_kb("VmHWM").saturating_sub(rss) as f64 / options.runs as f64,
        });
        println!("{line}");
        Ok(())
    })
}
