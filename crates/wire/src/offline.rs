//! The built-in extractive model: no network, no key, no language model.
//!
//! It reads the prompt that real models get, quotes the sentences that answer it, and names what it did not find. Its
//! name says what it is wherever a model's name is shown. Bodies on this wire are our own types as JSON.

use std::borrow::Cow;

use loopwright_base::{
    error::{Error, Failure, FailureKind, Result},
    message::{Block, MediaSource as Place, Message, Role, StopReason, Usage},
    request::{Request, Response},
    sources::{Source, SourceKind, parse_feedback, parse_prompt, parse_support},
};
use loopwright_retrieve::extractive::{self, Answer, Options};

/// The name of the model, as it is shown.
pub const MODEL: &str = "offline-extractive (not an LLM)";

/// What it says where it was given nothing to quote from.
const NO_SOURCES: &str = "I am the offline extractive model, not an LLM: I can only quote sentences from sources that \
come with the question (files, messages, results of tools), and none came.";

/// What it says where it is asked to make something.
pub const CREATES_NOTHING: &str = "I am the offline extractive model, not an LLM: I can't write, translate or invent \
anything, only quote from sources; for that name a model, such as `--model anthropic:NAME` or `--model ollama:NAME` on \
the command line, or the first argument of `Agent`, `Grounded` or `Research`.";

/// Whether a request asks for something new, and not for what the sources hold.
pub fn asks_to_create(question: &str) -> bool {
    const POLITE: [&str; 26] = [
        "please", "can", "could", "would", "will", "you", "kindly", "i", "want", "need", "like", "to", "help", "me",
        "us", "now", "hey", "i'd", "i’d", "let's", "let’s", "just", "ok", "okay", "and", "then",
    ];
    /// What is made up, where "tell me" or "give me" asks for it.
    const MADE_UP: [&str; 10] =
        ["story", "stories", "joke", "jokes", "poem", "tale", "riddle", "haiku", "limerick", "song"];
    const VERBS: [&str; 22] = [
        "write",
        "compose",
        "draft",
        "create",
        "generate",
        "invent",
        "design",
        "implement",
        "code",
        "program",
        "translate",
        "paraphrase",
        "rewrite",
        "refactor",
        "brainstorm",
        "imagine",
        "improve",
        "continue",
        "devise",
        "craft",
        "rephrase",
        "compile",
    ];
    const OBJECTS: [&str; 24] = [
        "a", "an", "the", "me", "us", "some", "this", "that", "it", "my", "our", "your", "these", "those", "two",
        "three", "five", "ten", "another", "new", "code", "tests", "ideas", "more",
    ];
    let mut words =
        question.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
    let first = words.find(|word| !word.is_empty() && !POLITE.contains(&word.as_str()));
    match first.as_deref() {
        Some("tell" | "give" | "sing" | "make") => {
            // "Tell me about the song" asks for what there is.
            let mut object = words.clone().take(5).take_while(|word| {
                !matches!(word.as_str(), "about" | "of" | "the" | "what" | "which" | "how" | "in" | "from")
            });
            if object.any(|word| MADE_UP.contains(&word.as_str()))
                || first.as_deref() == Some("make") && words.clone().next().is_some_and(|word| word == "up")
            {
                return true;
            }
        }
        Some("come") if words.clone().take(2).eq(["up", "with"].map(str::to_owned)) => return true,
        _ => {}
    }
    let Some(first) = first.filter(|first| VERBS.contains(&first.as_str())) else { return false };
    // "Code coverage: what is it?" speaks of code; "Write a poem" and "Translate it" name what to make.
    let next = words.next().unwrap_or_default();
    next.is_empty()
        || OBJECTS.contains(&next.as_str())
        || !matches!(first.as_str(), "code" | "program" | "design" | "draft" | "compile" | "improve" | "continue")
}

/// The request as JSON.
pub fn encode_request(request: &Request) -> Result<String> {
    serde_json::to_string(request)
        .map_err(|error| Error::internal("encode", format!("the request could not be written as JSON: {error}")))
}

/// A request from JSON.
pub fn decode_request(body: &str) -> Result<Request> {
    let failed = |why: String| {
        let message = format!("the body is no request of the offline wire: {why}");
        Error::usage("invalid_body", message).hint("give what `encode_request` of this wire writes")
    };
    // An array would be read as the fields in order.
    if !body.trim_start().starts_with('{') {
        return Err(failed("it is no JSON object".to_owned()));
    }
    serde_json::from_str(body).map_err(|error| failed(error.to_string()))
}

/// An answer from JSON.
pub fn decode_response(body: &str) -> Result<Response, Failure> {
    serde_json::from_str(body).map_err(|error| {
        Failure::new(FailureKind::InvalidBody, format!("the body is no answer of the offline wire: {error}"))
    })
}

/// The answer as JSON.
pub fn encode_response(response: &Response) -> String {
    // Our own types serialise without failing.
    serde_json::to_string(response).unwrap_or_default()
}

/// Answers `request` with quotes. Total: any request has an answer.
pub fn answer(request: &Request) -> Response {
    let text = answer_text(request);
    // There is no tokenizer and no bill: four characters count as a token.
    let input: usize =
        request.system.iter().map(|system| chars(system)).chain(request.messages.iter().map(chars)).sum();
    let usage =
        Usage { input: input.div_ceil(4) as u64, output: text.chars().count().div_ceil(4) as u64, ..Usage::default() };
    Response {
        id: String::new(),
        model: MODEL.to_owned(),
        message: Message::assistant(text),
        stop: StopReason::EndTurn,
        usage,
        extra: None,
        adapted: Vec::new(),
    }
}

fn chars(message: &Message) -> usize {
    let of_block = |block: &Block| match block {
        Block::Text(text) => text.text.chars().count(),
        Block::ToolResult(result) => result.prose().chars().count(),
        Block::ToolUse(call) => call.arguments_text().chars().count(),
        _ => 0,
    };
    message.content.iter().map(of_block).sum()
}

fn answer_text(request: &Request) -> String {
    let messages: Vec<&Message> = request.messages.iter().collect();
    let asking = messages.iter().rposition(|message| message.role == Role::User && !message.prose().trim().is_empty());
    let Some(asking) = asking else { return NO_SOURCES.to_owned() };
    let prose = messages.get(asking).map(|message| message.prose()).unwrap_or_default();
    // Feedback in a message of its own belongs to the last prompt before it.
    let earlier = parse_feedback(&prose).and_then(|feedback| {
        let before = messages.iter().take(asking).enumerate().rev();
        let mut prompts = before.filter(|(_, message)| message.role == Role::User);
        prompts.find_map(|(at, message)| {
            let (sources, question, _) = parse_prompt(&message.prose())?;
            Some((at, sources, question, Some(feedback.to_owned())))
        })
    });
    let (asking, mut sources, question, feedback) = earlier.unwrap_or_else(|| {
        let (sources, question, feedback) = parse_prompt(&prose).unwrap_or_else(|| (Vec::new(), prose.clone(), None));
        (asking, sources, question, feedback)
    });
    if asks_to_create(&question) {
        return CREATES_NOTHING.to_owned();
    }
    let given = prose != question;
    let asked_with = sources.len();
    for message in messages.iter().skip(asking) {
        sources.extend(more_sources(message));
    }
    if sources.is_empty() && !given {
        return NO_SOURCES.to_owned();
    }
    let drafts: Vec<String> =
        messages.iter().filter(|message| message.role == Role::Assistant).map(|message| message.prose()).collect();
    // What came after the prompt was not measured with it.
    let support =
        messages.get(asking).filter(|_| sources.len() == asked_with).and_then(|one| parse_support(&one.prose()));
    attempt(&question, &sources, support, feedback.as_deref(), &drafts)
}

/// Documents and results of tools that came with a message.
fn more_sources(message: &Message) -> Vec<Source> {
    let source = |kind, reference: &str, text: Cow<'_, str>| Source {
        kind,
        reference: reference.to_owned(),
        line: 1,
        end_line: text.trim_end_matches('\n').matches('\n').count() + 1,
        text: text.into_owned(),
        ..Source::default()
    };
    let mut sources = Vec::new();
    for block in &message.content {
        match block {
            Block::ToolResult(result) if !result.is_error && !result.prose().trim().is_empty() => {
                let name = if result.name.is_empty() { &result.id } else { &result.name };
                sources.push(source(SourceKind::Tool, name, result.prose().into()));
            }
            Block::Document(media) => {
                if let Place::Text { data, .. } = &media.source {
                    let name = media.name.as_deref().unwrap_or("document");
                    sources.push(source(SourceKind::File, name, data.as_str().into()));
                }
            }
            _ => {}
        }
    }
    sources
}

/// Answers, and after a failed attempt answers differently where the sources allow it.
fn attempt(
    question: &str,
    sources: &[Source],
    support: Option<f64>,
    feedback: Option<&str>,
    drafts: &[String],
) -> String {
    let first = extractive::answer(question, sources, &Options { support, ..Options::default() });
    let Some(feedback) = feedback else { return first.text };
    let failed = |answer: &Answer| answer.text == first.text || drafts.contains(&answer.text);
    let mut options = Options { support, ..options_for(feedback, &first) };
    // What was asked for first; then more and more that is merely different.
    for step in 0..10 {
        let answer = extractive::answer(question, sources, &options);
        if !failed(&answer) && !answer.quotes.is_empty() {
            return answer.text;
        }
        match step {
            0 | 5 => options.list_sources = true,
            1 | 6 => (options.least, options.most) = (options.least.max(2), 5),
            2 | 7 => (options.least, options.avoid) = (5, Vec::new()),
            // What speaks of the question less may still be what was meant.
            4 => options = Options { support, strict: false, ..options_for(feedback, &first) },
            _ => options.avoid = first.quotes.iter().map(|quote| quote.text.clone()).collect(),
        }
    }
    first.text
}

/// What the words of the feedback ask for.
fn options_for(feedback: &str, first: &Answer) -> Options {
    let feedback = feedback.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| feedback.contains(word));
    let mut options = Options::default();
    if says(&["short", "length", "brief", "character", "longer", "detail", "incomplete", "empty", "more"]) {
        (options.least, options.most) = (first.quotes.len() + 2, 5);
    }
    if says(&["bold", "markdown", "blockquote", "format", "plain"]) {
        options.plain = true;
    }
    if says(&["cite", "citation", "source", "reference"]) {
        options.list_sources = true;
    }
    if says(&[
        "unsupported",
        "irrelevant",
        "relevan",
        "overlap",
        "off topic",
        "off-topic",
        "keyword",
        "does not answer",
        "wrong",
    ]) {
        options.avoid = first.quotes.iter().map(|quote| quote.text.clone()).collect();
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_base::{
        message::{ToolResult, ToolUse},
        request::History,
        sources::{render_feedback, render_prompt},
    };
    use loopwright_testing::growth::grows_in_line;
    use proptest::prelude::*;

    fn source(text: &str) -> Source {
        let end_line = 40 + text.matches('\n').count();
        Source { reference: "docs/transport.md".into(), line: 40, end_line, text: text.into(), ..Source::default() }
    }

    fn request(messages: Vec<Message>) -> Request {
        Request { messages: History::from_iter(messages), ..Request::default() }
    }

    fn ask(question: &str, sources: &[Source], feedback: Option<&str>) -> String {
        answer(&request(vec![Message::user(render_prompt(question, sources, feedback))])).message.prose()
    }

    const TEXT: &str = "# Retries\nA failed request is tried **again** up to 3 times.\n\n- The [wait](x.md) between attempts \
        doubles.\n- A failed request is logged with its status.\n\nThe cache holds ten pages.";

    #[test]
    fn quotes_with_place_and_name() {
        let response = answer(&request(vec![Message::user(render_prompt(
            "How often is a failed request retried?",
            &[source(TEXT)],
            None,
        ))]));
        assert_eq!(response.message.prose(), "A failed request is tried again up to 3 times. [docs/transport.md:41]");
        assert_eq!((response.model.as_str(), response.stop), (MODEL, StopReason::EndTurn));
        assert!(response.usage.input > 50 && response.usage.output > 10);
    }

    #[test]
    fn names_what_it_did_not_find() {
        let told = ask("What does the flux capacitor do?", &[source(TEXT)], None);
        assert_eq!(told, "I found nothing about `flux capacitor` in 1 source.");
        let told = ask("How often is a failed request retried in Greenland?", &[source(TEXT)], None);
        assert!(
            told.starts_with("A failed request") && told.ends_with("Not found in the sources: `Greenland`."),
            "{told}"
        );
        let told = ask("Why?", &[source(TEXT)], None);
        assert!(told.contains("no word to look for"), "{told}");
        assert!(ask("What is the cache?", &[], None).contains("I found nothing about `cache` in any source"));
    }

    #[test]
    fn says_what_it_is_without_sources() {
        let told = answer(&request(vec![Message::user("hi")])).message.prose();
        assert!(told.contains("not an LLM") && told.matches('.').count() == 1);
        assert_eq!(answer(&Request::default()).message.prose(), told);
    }

    #[test]
    fn creates_nothing_and_says_how_to_have_it_done() {
        for asked in [
            "Write a poem about failed requests.",
            "Could you please translate it to German?",
            "Draft a mail",
            "Invent three names",
            "Tell me a story about a request",
            "I'd like you to write a poem",
            "Make up a name for the cache",
            "Come up with three names",
            "Give us a joke.",
        ] {
            let told = ask(asked, &[source(TEXT)], None);
            assert!(told.contains("not an LLM") && told.contains("--model"), "{asked}: {told}");
            assert_eq!(told.matches(". ").count(), 0, "one sentence: {told}");
        }
        for asked in [
            "How do I write a test?",
            "Does a failed request create a log entry?",
            "Code coverage of requests?",
            "Tell me about the song",
            "Give the number of stories",
            "Make sure that requests are retried: how?",
        ] {
            assert!(!ask(asked, &[source(TEXT)], None).contains("can't write"), "{asked}");
        }
    }

    #[test]
    fn numbers_that_disagree_are_listed() {
        let a = Source {
            reference: "a.md".into(),
            text: "The timeout of a request is 30 seconds.".into(),
            line: 1,
            end_line: 1,
            ..Source::default()
        };
        let b = Source {
            reference: "b.md".into(),
            text: "The timeout of a request is 60 seconds.".into(),
            line: 1,
            end_line: 1,
            ..Source::default()
        };
        let told = ask("What is the timeout of a request?", &[a.clone(), b], None);
        assert!(told.ends_with("The sources disagree: 30 [a.md:1], 60 [b.md:1]."), "{told}");
        let same = Source { reference: "c.md".into(), ..a.clone() };
        assert!(!ask("What is the timeout of a request?", &[a, same], None).contains("disagree"));
    }

    fn lines(text: &str) -> Vec<Source> {
        let end_line = text.matches('\n').count() + 1;
        vec![Source { reference: "a.md".into(), line: 1, end_line, text: text.into(), ..Source::default() }]
    }

    #[test]
    fn x15_what_only_a_heading_tells_is_found_with_the_heading() {
        let sources = lines(
            "# Service\n\n## Retry limits\n\n5 attempts\n\n## Databases\n\n- SQLite\n- Oracle\n\n## Chapter 3: The Inn\n\n\
             Entering that inn.\n\n# Chapter 4\n\n## The Counterpane\n\nUpon waking.\n",
        );
        for (asked, told) in [
            ("What are the retry limits?", "Retry limits [a.md:3]\n5 attempts [a.md:5]"),
            ("Which databases are there?", "Databases [a.md:7]\nSQLite [a.md:9]\nOracle [a.md:10]"),
            ("What is the name of chapter 3?", "Chapter 3: The Inn [a.md:12]"),
            ("What is chapter 3 called?", "Chapter 3: The Inn [a.md:12]"),
        ] {
            assert_eq!(ask(asked, &sources, None), told, "{asked}");
        }
        let told = ask("What is the title of chapter 4?", &sources, None);
        assert!(told.contains("The Counterpane [a.md:18]"), "{told}");
    }

    #[test]
    fn x15_a_vague_question_for_a_way_is_answered_by_what_tells_one_or_not_at_all() {
        let text = "# Widget\n\nIt was started in 2019 by a small team. The team used Perl at first.\n\n## Usage\n\n\
            Call `widget build` to build all widgets. The first widgets were used in 2020.\n\n## Contributing\n\n\
            Fork the repository.\n";
        let sources = lines(text);
        for asked in ["How do I start?", "How do I get started?", "What do I do first?", "How can I use Perl?"] {
            let told = ask(asked, &sources, None);
            assert!(told.starts_with("I found nothing that answers this"), "{asked}: {told}");
        }
        let told = ask("How do I use it?", &sources, None);
        assert!(told.contains("Call `widget build` to build all widgets. [a.md:7]"), "{told}");
        assert!(ask("How do I contribute?", &sources, None).contains("Fork the repository. [a.md:11]"));
        assert!(ask("How was it started?", &sources, None).contains("It was started in 2019"));
        let told = ask("How do I deploy?", &lines("A push to main deploys the site. The deploy team rests."), None);
        assert!(told.starts_with("A push to main deploys the site."), "{told}");
    }

    #[test]
    fn sources_that_say_the_opposite_are_listed() {
        let say = |name: &str, text: &str| Source { reference: name.into(), ..lines(text).remove(0) };
        let sources = [
            say("a.md", "The API supports streaming of results."),
            say("b.md", "Results are kept for a day. Streaming of results is not supported by the API."),
            say("c.md", "Streaming of results is fast."),
        ];
        let told = ask("Does the API support streaming?", &sources, None);
        assert!(
            told.ends_with(
                "The sources disagree: \u{201c}The API supports streaming of results\u{201d} [a.md:1], \
                 \u{201c}Streaming of results is not supported by the API\u{201d} [b.md:1]."
            ),
            "{told}"
        );
        // One file may say one thing of production and another one of tests.
        let one = "## Production\n\nThe cache is enabled.\n\n## Tests\n\nThe cache is disabled.";
        assert!(!ask("Is the cache enabled?", &lines(one), None).contains("disagree"));
    }

    #[test]
    fn boilerplate_is_dropped_and_dangling_sentences_come_with_their_passage() {
        let page = |name: &str, text: &str| Source {
            reference: name.into(),
            text: text.into(),
            line: 1,
            end_line: 1,
            ..Source::default()
        };
        let footer = "Read more about the retry of a failed request.";
        let sources = [
            page(
                "a.md",
                &format!(
                    "The client sends each request with a key. It is retried three times when it failed.\n\n{footer}"
                ),
            ),
            page("b.md", footer),
            page("c.md", footer),
        ];
        let told = ask("How often is a failed request retried?", &sources, None);
        assert!(!told.contains("Read more"), "{told}");
        assert!(
            told.starts_with("The client sends each request with a key. [a.md:1]\nIt is retried three times"),
            "{told}"
        );
    }

    #[test]
    fn results_of_tools_are_sources() {
        let call = ToolUse::from_text("c1", "read_page", "{}".into());
        let result = ToolResult::text("c1", "read_page", "Tides.\nHigh tide in Husum is at 14:20.\n");
        let told = answer(&request(vec![
            Message::user("When is high tide in Husum?"),
            Message::new(Role::Assistant, vec![Block::ToolUse(call)]),
            Message::new(Role::User, vec![Block::ToolResult(result)]),
        ]));
        assert_eq!(told.message.prose(), "High tide in Husum is at 14:20. [read_page:2]");
    }

    #[test]
    fn e18_feedback_changes_the_answer() {
        let question = "How often is a failed request retried?";
        let first = ask(question, &[source(TEXT)], None);
        let mut drafts = vec![first.clone()];
        for feedback in ["too short: 61 characters", "cite your sources", "does not answer the question", "improve it"]
        {
            let second = ask(question, &[source(TEXT)], Some(feedback));
            assert_ne!(second, first, "{feedback}");
            assert!(second.contains("[docs/transport.md:4"), "{second}");
        }
        // Drafts that stand in the history are not given again while there is another.
        let mut messages =
            vec![Message::user(render_prompt(question, &[source(TEXT)], None)), Message::assistant(&first)];
        for _ in 0..2 {
            messages.push(Message::user(render_prompt(question, &[source(TEXT)], Some("too short"))));
            let next = answer(&request(messages.clone())).message;
            assert!(!drafts.contains(&next.prose()), "{}", next.prose());
            drafts.push(next.prose());
            messages.push(next);
        }
    }

    #[test]
    fn e18_feedback_may_come_in_a_message_of_its_own() {
        let question = "How often is a failed request retried?";
        let first = ask(question, &[source(TEXT)], None);
        let mut messages = vec![Message::user(render_prompt(question, &[source(TEXT)], None))];
        let mut drafts = vec![first.clone()];
        for _ in 0..2 {
            messages.push(Message::assistant(drafts.last().unwrap()));
            messages.push(Message::user(render_feedback("Please fix: MINIMUM_LENGTH: too\nshort")));
            let next = answer(&request(messages.clone())).message.prose();
            assert!(!drafts.contains(&next) && next.contains("[docs/transport.md:4"), "{next}");
            drafts.push(next);
        }
        // Without a prompt before it, it is a question like any other.
        let told = answer(&request(vec![Message::user(render_feedback("x"))])).message.prose();
        assert!(told.contains("not an LLM"), "{told}");
    }

    #[test]
    fn bodies_are_our_own_types() {
        let request = request(vec![Message::user("hi")]);
        assert_eq!(decode_request(&encode_request(&request).unwrap()).unwrap(), request);
        let response = answer(&request);
        assert_eq!(decode_response(&encode_response(&response)).unwrap(), response);
        assert_eq!(decode_response("{").unwrap_err().kind, FailureKind::InvalidBody);
        assert_eq!(decode_request("[]").unwrap_err().code, "invalid_body");
    }

    #[test]
    fn hostile_sources_take_linear_time() {
        for piece in ["`", "[", "[a](", "<a ", "| a ", "**", "a. ", "x\n", "failed request\n", "> - ", "# "] {
            grows_in_line(piece, 25_000, |size| {
                ask(
                    "How often is a failed request tried?",
                    &[source(&piece.repeat(size / piece.len()))],
                    Some("too short"),
                );
            });
        }
    }

    proptest! {
        #[test]
        fn any_prompt_has_an_answer(
            question in "([a-z]{1,6}|how many|[`\\[\\]?é東京] ?|\n){0,8}",
            text in "([a-z]{1,6} |[.!?|`*#<>\\[\\]()é東京-]|\n|```\n|\\| ){0,80}",
            feedback in proptest::option::of("short|cite|format|x"),
        ) {
            let told = ask(&question, &[source(&text), source(&text)], feedback.as_deref());
            prop_assert!(!told.trim().is_empty());
        }
    }
}
