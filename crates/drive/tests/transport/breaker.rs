//! The circuit breaker of a model at a host.

use super::*;

#[tokio::test]
async fn a19_the_breaker_opens_and_half_opens() {
    let broken = (0..4).map(|_| Reply::status(500));
    let server = WireServer::start(Script::of(broken.chain([Reply::text("back")]))).unwrap();
    let client = Client::new(ClientOptions { breaker_cooldown: 0.3, ..ClientOptions::default() });
    let endpoint = endpoint(&server, MODEL);
    let once = || async { call(&client, &endpoint, false, Timeouts::default()).await };
    for _ in 0..3 {
        assert_eq!(once().await.unwrap_err().failure.kind, FailureKind::Server);
    }
    let open = once().await.unwrap_err().failure;
    assert_eq!(open.kind, FailureKind::BreakerOpen);
    assert!(open.retry_after.is_some_and(|seconds| seconds > 0.0 && seconds <= 0.3), "{open:?}");
    assert_eq!(server.asked(), 3, "an open breaker sends nothing");
    // Another host is not concerned.
    let other = WireServer::start(Script::of([Reply::text("fine")])).unwrap();
    assert!(call(&client, &endpoint_at(&other.url(), MODEL), false, Timeouts::default()).await.is_ok());

    tokio::time::sleep(Duration::from_millis(310)).await;
    let (first, second, third) = tokio::join!(once(), once(), once());
    let kinds: Vec<_> = [first, second, third].map(|outcome| outcome.unwrap_err().failure.kind).into();
    assert_eq!(kinds.iter().filter(|kind| **kind == FailureKind::BreakerOpen).count(), 2, "one probe: {kinds:?}");
    assert_eq!(server.asked(), 4);

    tokio::time::sleep(Duration::from_millis(310)).await;
    assert_eq!(once().await.unwrap().message.prose(), "back");
    // Closed again: the script is used up, and each failure is the server's own.
    assert_eq!(once().await.unwrap_err().failure.kind, FailureKind::Server);
    assert_eq!(once().await.unwrap_err().failure.kind, FailureKind::Server);
}

#[tokio::test]
async fn a19_another_model_of_the_host_is_not_concerned() {
    let server = WireServer::start(Script::of((0..3).map(|_| Reply::status(503)))).unwrap();
    let client = Client::default();
    let [one, other] = ["openai-chat:one", "openai-chat:other"].map(|model| endpoint(&server, model));
    for _ in 0..3 {
        call(&client, &one, false, Timeouts::default()).await.unwrap_err();
    }
    let open = call(&client, &one, false, Timeouts::default()).await.unwrap_err().failure;
    assert_eq!(open.kind, FailureKind::BreakerOpen);
    assert!(open.message.starts_with("one at 127.0.0.1:"), "{open:?}");
    server.push(Reply::text("fine"));
    assert_eq!(call(&client, &other, false, Timeouts::default()).await.unwrap().message.prose(), "fine");
}

#[tokio::test]
async fn a19_refusals_and_cancelled_calls_do_not_open_the_breaker() {
    let server = WireServer::start(Script::of((0..6).map(|_| Reply::status(429)))).unwrap();
    let client = Client::default();
    let endpoint = endpoint(&server, MODEL);
    for _ in 0..6 {
        let failure = call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err();
        assert_eq!(failure.failure.kind, FailureKind::RateLimited);
    }
    for _ in 0..5 {
        server.push(Reply::text("x").fault(Fault::Hang));
        let hanging = call(&client, &endpoint, false, Timeouts::default());
        assert!(tokio::time::timeout(Duration::from_millis(20), hanging).await.is_err());
    }
    server.push(Reply::text("fine"));
    assert!(call(&client, &endpoint, false, Timeouts::default()).await.is_ok());
}

#[tokio::test]
async fn a19_a_cancelled_probe_gives_its_slot_back() {
    let server = WireServer::start(Script::of([Reply::status(500), Reply::text("x").fault(Fault::Hang)])).unwrap();
    let options = ClientOptions { breaker_cooldown: 0.05, breaker_threshold: 1, ..ClientOptions::default() };
    let (client, endpoint) = (Client::new(options), endpoint(&server, MODEL));
    call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let probe = call(&client, &endpoint, false, Timeouts::default());
    assert!(tokio::time::timeout(Duration::from_millis(50), probe).await.is_err());
    server.push(Reply::text("back"));
    assert_eq!(call(&client, &endpoint, false, Timeouts::default()).await.unwrap().message.prose(), "back");
}

#[tokio::test]
async fn a19_a_request_that_opened_the_breaker_may_be_its_probe_at_once_and_once() {
    let limits = Timeouts::default();
    for (last, works) in [(Reply::text("back"), true), (Reply::status(500), false)] {
        let broken = [500, 502, 503].map(Reply::status);
        let server = WireServer::start(Script::of(broken.into_iter().chain([last]))).unwrap();
        let (client, endpoint) = (Client::default(), endpoint(&server, MODEL));
        let attempt = |number| client.call(&endpoint, body(&endpoint, false), false, number, &limits, |_| {});
        for number in 1..=3 {
            assert!(attempt(number).await.unwrap_err().failure.status >= Some(500));
        }
        let other = attempt(1).await.unwrap_err().failure;
        assert_eq!(other.kind, FailureKind::BreakerOpen, "another request waits");
        assert_eq!(attempt(4).await.is_ok(), works);
        assert_eq!(server.asked(), 4);
        if works {
            server.push(Reply::text("fine"));
            assert!(attempt(1).await.is_ok(), "closed again");
        } else {
            assert_eq!(attempt(5).await.unwrap_err().failure.kind, FailureKind::BreakerOpen);
            assert_eq!(server.asked(), 4, "only once");
        }
    }
}

#[tokio::test]
async fn a19_a_server_does_not_answer_for_one_that_stood_at_its_address() {
    let server = WireServer::start(Script::of((0..3).map(|_| Reply::status(500)))).unwrap();
    let (client, endpoint) = (Client::shared(), endpoint(&server, MODEL));
    for _ in 0..3 {
        call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err();
    }
    let open = call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err().failure;
    assert_eq!(open.kind, FailureKind::BreakerOpen);
    let address = server.url().trim_start_matches("http://").parse().unwrap();
    server.stop();
    let server = WireServer::start_at(address, Script::of([Reply::text("another")])).unwrap();
    let answer = call(&client, &endpoint, false, Timeouts::default()).await.unwrap();
    assert_eq!(answer.message.prose(), "another");
    drop(server);
}

#[tokio::test]
async fn w29_a_request_whose_probe_failed_does_not_wait_for_another_cooldown() {
    let broken = (0..4).map(|_| Reply::status(500));
    let server = WireServer::start(Script::of(broken.chain([Reply::text("back")]))).unwrap();
    let client = Client::new(ClientOptions { breaker_cooldown: 0.3, ..ClientOptions::default() });
    let (endpoint, limits) = (endpoint(&server, MODEL), Timeouts::default());
    let attempt = |number| client.call(&endpoint, body(&endpoint, false), false, number, &limits, |_| {});
    // Somebody else has opened it, and gone.
    for _ in 0..3 {
        attempt(1).await.unwrap_err();
    }
    assert_eq!(attempt(1).await.unwrap_err().failure.kind, FailureKind::BreakerOpen);
    tokio::time::sleep(Duration::from_millis(310)).await;
    assert_eq!(attempt(2).await.unwrap_err().failure.kind, FailureKind::Server, "its turn, a little too soon");
    assert_eq!(attempt(1).await.unwrap_err().failure.kind, FailureKind::BreakerOpen, "another request waits");
    assert_eq!(attempt(3).await.unwrap().message.prose(), "back");
    assert_eq!(server.asked(), 5);
}
