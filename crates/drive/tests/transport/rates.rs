//! Limits of a host and key: calls wait for their turn, and nothing of them has begun by then.

use super::*;
use loopwright_drive::{
    in_flight::Watch,
    native::{Driver, Update},
    pace::{Held, Limits},
    wire_server::Rates,
};
use loopwright_machine::{MachineConfig, Notice, journal, turn::TurnConfig};

fn limited(server: &WireServer, key: &str, limits: Limits) -> Endpoint {
    limited_at(server, "openai-chat:m", key, limits)
}

fn limited_at(server: &WireServer, model: &str, key: &str, limits: Limits) -> Endpoint {
    let (base_url, api_key) = (Some(server.url()), Some(key.to_owned()));
    let options = EndpointOptions { base_url, api_key, limits, ..EndpointOptions::default() };
    Endpoint::resolve(model, &options, |_| None).unwrap().0
}

fn serve(replies: impl IntoIterator<Item = Reply>, rates: Rates) -> WireServer {
    let script = Script { repeat_last: true, rates: Some(rates), ..Script::of(replies) };
    WireServer::start(script).unwrap()
}

/// A listener that keeps what it hears of waiting.
#[derive(Clone, Default)]
struct Waits(Arc<Mutex<Vec<Held>>>);

impl Watch for Waits {
    fn deltas(&mut self, _: Vec<Delta>) {}

    fn held(&mut self, held: Held) {
        self.0.lock().unwrap().push(held);
    }
}

impl Waits {
    fn reasons(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().iter().map(|held| held.reason).collect()
    }
}

#[tokio::test]
async fn a_thousand_runs_end_without_a_single_429() {
    // A minute of half a second, on both sides; the server refuses what is too many, and tells nothing before.
    let minute = 0.5;
    for (fixed, most) in [(false, 60), (true, 250)] {
        let rates = Rates { requests_per_minute: Some(most), minute, fixed, silent: true, ..Rates::default() };
        let server = serve([Reply::text("done")], rates);
        let limits = Limits { requests_per_minute: Some(most as u64), ..Limits::default() };
        let client = Client::new(ClientOptions { minute, ..ClientOptions::default() });
        let driver = Driver::new(client, limited(&server, KEY, limits));
        let (held, retries) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let run = |number: usize| {
            let (driver, held, retries) = (&driver, &held, &retries);
            async move {
                let config =
                    TurnConfig { model: "m".into(), stream: number.is_multiple_of(2), ..TurnConfig::default() };
                let watch = |told: Update| match told {
                    Update::Held { held: Held { host, .. }, .. } if host.starts_with("127.0.0.1:") => {
                        held.fetch_add(1, Ordering::Relaxed);
                    }
                    Update::Notice(Notice::Retry { .. }) => {
                        retries.fetch_add(1, Ordering::Relaxed);
                    }
                    _ => {}
                };
                driver.run(MachineConfig::Turn(config), vec![Message::user("go")], |_| {}, watch).await.unwrap()
            }
        };
        let ended = futures_util::future::join_all((0..1_000).map(run)).await;
        assert!(ended.iter().all(|run| run.outcome.r#final.as_deref() == Some("done")));
        assert_eq!((server.limited(), server.asked()), (0, 1_000), "fixed: {fixed}");
        assert_eq!(retries.into_inner(), 0, "waiting is no attempt");
        assert!(held.into_inner() >= 500, "most had to wait, and said so");
        for run in ended.iter().step_by(100) {
            let replay = journal::replay(std::str::from_utf8(&run.journal).unwrap()).unwrap();
            assert_eq!(replay.divergence, None);
        }
    }
}

#[tokio::test]
async fn no_more_are_under_way_than_may_be_whatever_becomes_of_them() {
    let slow = Reply { piece: 4, chunk_delay_ms: 1, ..Reply::text(LONG) };
    let server = serve([slow], Rates { concurrency: Some(4), ..Rates::default() });
    let limits = Limits { concurrency: Some(4), ..Limits::default() };
    let (client, endpoint) = (Client::default(), limited(&server, KEY, limits));
    let waits = Waits::default();
    let calls = (0..60).map(|number| {
        let (client, endpoint, waits) = (client.clone(), endpoint.clone(), waits.clone());
        let stream = number % 3 != 0;
        async move { client.call(&endpoint, body(&endpoint, stream), stream, 1, &Timeouts::default(), waits).await }
    });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().message.prose() == LONG));
    assert_eq!((server.limited(), server.asked()), (0, 60));
    assert_eq!(waits.reasons(), vec!["concurrency"; 56]);

    // Two that are left in the middle of their answers, and two that are left in line, give their places back.
    let hangs = serve([Reply::text("x").fault(Fault::Hang)], Rates::default());
    let endpoint = limited(&hangs, KEY, Limits { concurrency: Some(2), ..Limits::default() });
    let calls: Vec<_> = (0..4)
        .map(|_| {
            let (client, endpoint) = (client.clone(), endpoint.clone());
            tokio::spawn(async move { call(&client, &endpoint, true, Timeouts::default()).await })
        })
        .collect();
    eventually("two of them ask", Duration::from_secs(10), || hangs.asked() == 2).await;
    for number in [3, 0, 2, 1] {
        calls[number].abort();
    }
    for call in calls {
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let short = Timeouts { total: 0.2, ..Timeouts::default() };
    let failures = futures_util::future::join_all((0..4).map(|_| call(&client, &endpoint, true, short))).await;
    let kinds: Vec<_> = failures.into_iter().map(|failed| failed.unwrap_err().failure.kind).collect();
    assert_eq!(kinds, vec![FailureKind::Timeout; 4], "none of them waits for ever, nor for its own limit in line");
    assert_eq!(hangs.asked(), 6);
}

#[tokio::test]
async fn a_refusal_of_one_holds_the_others_and_costs_them_no_attempt() {
    let refusal = Fault::Status { status: 429, retry_after: Some("2".into()), message: None, should_retry: None };
    let server = serve([Reply::default().fault(refusal), Reply::text("fine")], Rates::default());
    let client = Client::default();
    let endpoint = limited(&server, KEY, Limits::default());
    let failure = call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err().failure;
    assert_eq!((failure.kind, failure.retry_after), (FailureKind::RateLimited, Some(2.0)));
    let waits = Waits::default();
    // No limit of the call passes while it waits.
    let limits = Timeouts { connect: 1.0, first_byte: 1.0, idle: 1.0, total: 1.0 };
    let held = (0..20).map(|_| client.call(&endpoint, body(&endpoint, false), false, 1, &limits, waits.clone()));
    let other = limited(&server, "sk-of-somebody-else", Limits::default());
    let other_model = endpoint.for_model("n");
    let apart = async {
        // Another key, and another model, have limits of their own.
        let free = [call(&client, &other, false, limits).await, call(&client, &other_model, false, limits).await];
        assert_eq!(server.asked(), 3);
        free
    };
    let (held, free) = tokio::join!(futures_util::future::join_all(held), apart);
    assert!(held.into_iter().chain(free).all(|answer| answer.unwrap().message.prose() == "fine"));
    assert_eq!(waits.reasons(), vec!["provider"; 20]);
    assert_eq!(server.asked(), 23, "none is sent twice");
}

#[tokio::test]
async fn what_the_headers_say_is_heeded_without_any_option() {
    for model in ["openai-chat:m", "anthropic:m"] {
        let rates = Rates { requests_per_minute: Some(10), minute: 0.5, fixed: true, ..Rates::default() };
        let server = serve([Reply::text("fine")], rates);
        let (client, endpoint) = (Client::default(), endpoint(&server, model));
        // The first answer says how many are left; from there on none is one too many.
        call(&client, &endpoint, false, Timeouts::default()).await.unwrap();
        let calls = (0..45).map(|_| call(&client, &endpoint, false, Timeouts::default()));
        let answers = futures_util::future::join_all(calls).await;
        assert!(answers.into_iter().all(|answer| answer.is_ok()));
        assert_eq!((server.limited(), server.asked()), (0, 46), "{model}");
    }
}

#[tokio::test]
async fn tokens_are_set_aside_before_and_corrected_behind() {
    let server = serve([Reply::text("fine")], Rates::default());
    let minute = ClientOptions { minute: 0.2, ..ClientOptions::default() };
    let (client, waits) = (Client::new(minute), Waits::default());
    let limits = Limits { tokens_per_minute: Some(1_000), ..Limits::default() };
    let endpoint = limited(&server, KEY, limits);
    let ask = |max_tokens: u64| {
        let request = Request { max_tokens: Some(max_tokens), ..request(true) };
        let (client, endpoint, waits) = (&client, &endpoint, waits.clone());
        async move { loopwright_drive::ask::ask(client, endpoint, &Timeouts::default(), &request, 1, waits).await }
    };
    // Each sets most of it aside, and takes little in the end.
    let answers = futures_util::future::join_all((0..4).map(|_| ask(900))).await;
    assert!(answers.into_iter().all(|answer| answer.is_ok()));
    assert_eq!(waits.reasons(), vec!["tokens_per_minute"; 3]);
    // What is larger than the limit goes all the same.
    assert!(ask(50_000).await.is_ok());
}

/// Asks `number` times at once, of prompts and answers of any length, with a limit of the answer or none.
async fn asks_of_any_length(client: &Client, endpoint: &Endpoint, number: usize) -> Vec<Result<Response, CallFailure>> {
    let ask = |at: usize| async move {
        let stream = at.is_multiple_of(2);
        let request = Request {
            messages: [Message::user("Say it again. ".repeat(1 + at % 7))].into_iter().collect(),
            max_tokens: (!at.is_multiple_of(3)).then_some(40),
            ..request(stream)
        };
        loopwright_drive::ask::ask(client, endpoint, &Timeouts::default(), &request, 1, Waits::default()).await
    };
    futures_util::future::join_all((0..number).map(ask)).await
}

#[tokio::test]
async fn no_minute_holds_more_tokens_than_the_limit_whatever_a_provider_counts() {
    let (minute, most) = (0.25, 12_000);
    for model in MODELS {
        for fixed in [false, true] {
            let rates = Rates { tokens_per_minute: Some(most), minute, fixed, silent: true, ..Rates::default() };
            let server = serve([Reply::text("It is so. ".repeat(3))], rates);
            let limits = Limits { tokens_per_minute: Some(most), ..Limits::default() };
            let client = Client::new(ClientOptions { minute, ..ClientOptions::default() });
            let answers = asks_of_any_length(&client, &limited_at(&server, model, KEY, limits), 300).await;
            assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 0, "{model}, fixed: {fixed}");
            assert_eq!((server.limited(), server.asked()), (0, 300), "{model}, fixed: {fixed}");
        }
    }
}

#[tokio::test]
async fn tokens_that_the_headers_say_are_left_are_not_asked_for_twice() {
    // They count a request when it arrives, by the limit of its answer.
    for model in ["openai-chat:m", "openai-responses:m"] {
        for fixed in [false, true] {
            let rates = Rates { tokens_per_minute: Some(1_500), minute: 0.25, fixed, ..Rates::default() };
            let server = serve([Reply::text("It is so. ".repeat(3))], rates);
            let (client, endpoint) = (Client::default(), endpoint(&server, model));
            call(&client, &endpoint, false, Timeouts::default()).await.unwrap();
            let answers = asks_of_any_length(&client, &endpoint, 250).await;
            assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 0, "{model}, fixed: {fixed}");
            assert_eq!((server.limited(), server.asked()), (0, 251), "{model}, fixed: {fixed}");
        }
    }
}

#[tokio::test]
async fn of_two_that_say_something_of_a_host_the_smaller_holds_while_both_are_there() {
    let server = serve([Reply::text("fine")], Rates::default());
    let client = Client::default();
    let generous = limited(&server, KEY, Limits { requests_per_minute: Some(1_000), ..Limits::default() });
    let strict = limited(&server, KEY, Limits { requests_per_minute: Some(2), ..Limits::default() });
    let silent = limited(&server, KEY, Limits::default());
    for endpoint in [&strict, &generous] {
        call(&client, endpoint, false, Timeouts::default()).await.unwrap();
    }
    let (waits, limits) = (Waits::default(), Timeouts::default());
    for endpoint in [&silent, &generous] {
        let waiting = client.call(endpoint, body(endpoint, false), false, 1, &limits, waits.clone());
        assert!(tokio::time::timeout(Duration::from_millis(50), waiting).await.is_err());
    }
    assert_eq!(waits.reasons(), ["requests_per_minute"; 2]);
    assert!(waits.0.lock().unwrap().iter().all(|held| held.seconds.is_some_and(|seconds| seconds > 30.0)));
    drop(strict);
    assert!(call(&client, &silent, false, Timeouts::default()).await.is_ok());
    assert_eq!(server.asked(), 3);
}
