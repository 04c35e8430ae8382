//! Connections that are kept between calls, and servers that close them at the worst moment.

use super::*;

/// A server whose connections answer `answers` requests each, then read one more and are closed (`reset`: with a
/// reset). Gives its address and the number of requests it has read.
async fn closes_after(answers: usize, reset: bool) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let read = counted.clone();
            tokio::spawn(async move {
                for number in 0.. {
                    let Some(_) = double::taken(&mut stream).await else { return };
                    read.fetch_add(1, Ordering::Relaxed);
                    if number == answers {
                        if reset {
                            stream.set_zero_linger().unwrap();
                        }
                        return;
                    }
                    let body = r#"{"id":"r","model":"m","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    stream.write_all((head + body).as_bytes()).await.unwrap();
                }
            });
        }
    });
    (address, read)
}

#[tokio::test]
async fn a14_a_kept_connection_that_is_closed_under_a_request_costs_no_attempt() {
    for reset in [false, true] {
        let (address, read) = closes_after(1, reset).await;
        let options = ClientOptions { breaker_threshold: 1, ..ClientOptions::default() };
        let (client, endpoint) = (Client::new(options), endpoint_at(&address, "openai-chat:m"));
        for _ in 0..5 {
            let answer = call(&client, &endpoint, false, Timeouts::default()).await.unwrap();
            assert_eq!(answer.message.prose(), "hi");
        }
        assert_eq!(read.load(Ordering::Relaxed), 5 + 4, "each of four found its connection closed");
    }
}

#[tokio::test]
async fn a14_many_kept_connections_that_are_closed_under_requests_cost_no_attempt() {
    let (address, _) = closes_after(1, true).await;
    let (client, endpoint) = (Client::default(), endpoint_at(&address, "openai-chat:m"));
    for _ in 0..2 {
        let calls = (0..5).map(|_| call(&client, &endpoint, false, Timeouts::default()));
        for answer in futures_util::future::join_all(calls).await {
            assert_eq!(answer.unwrap().message.prose(), "hi");
        }
    }
}

#[tokio::test]
async fn a14_a_connection_of_its_own_that_is_closed_is_a_failure() {
    for reset in [false, true] {
        let (address, read) = closes_after(0, reset).await;
        let (client, endpoint) = (Client::default(), endpoint_at(&address, "openai-chat:m"));
        let failure = call(&client, &endpoint, false, Timeouts::default()).await.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::Cut);
        assert_eq!(read.load(Ordering::Relaxed), 1, "asked once");
    }
}

#[tokio::test]
async fn a_server_that_closes_without_a_word_may_want_another_scheme() {
    let (address, _) = closes_after(0, true).await;
    let failure =
        call(&Client::default(), &endpoint_at(&address, MODEL), false, Timeouts::default()).await.unwrap_err();
    assert!(failure.failure.hint.is_some_and(|hint| hint.contains("https://")));
}
