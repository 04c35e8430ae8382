//! Whether a reply claims to be done, and whether it asks the reader for something.
//!
//! Each finding names its rule, the words that decided and their place. "Not done yet", "once this is done" and "will
//! be done" claim nothing; a question that the text answers itself, or a courtesy at the end, asks for nothing.

use std::{ops::Range, sync::LazyLock};

use serde::Serialize;

use super::next_step::{NextStep, next_step_in};
use loopwright_lexicon::reading::{Kind, Phrases, Reading, Sentence, Side, Token, Words};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// The work is said to be done.
    Completion,
    /// The work is said not to be done, or not yet.
    Unfinished,
    /// The reader is asked for something that is needed.
    Clarification,
    /// The reader is asked whether something may or shall be done.
    Offer,
    /// A question that wants no answer: answered at once, or a figure of speech.
    Rhetorical,
    /// A courtesy such as "Anything else?".
    Courtesy,
}

impl SignalKind {
    /// The name in tables and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completion => "completion",
            Self::Unfinished => "unfinished",
            Self::Clarification => "clarification",
            Self::Offer => "offer",
            Self::Rhetorical => "rhetorical",
            Self::Courtesy => "courtesy",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// What it is.
    pub kind: SignalKind,
    /// The rule that found it.
    pub rule: &'static str,
    /// The place of the words that decided.
    pub words: Range<usize>,
    /// The place of their sentence.
    pub sentence: Range<usize>,
}

/// All that a reply signals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signals {
    /// The findings, in order.
    pub found: Vec<Signal>,
    /// The reply claims that the work is done, and says nothing to the contrary behind it.
    pub complete: bool,
    /// The reply ends by asking the reader for something.
    pub asks: bool,
}

/// What a reply signals.
pub fn signals(text: &str) -> Signals {
    let reading = Reading::of(text, Side::Tail);
    signals_in(&reading, next_step_in(&reading).as_ref())
}

/// What a reply signals that was read already, with the step that it states.
pub(super) fn signals_in(reading: &Reading, step: Option<&NextStep>) -> Signals {
    let mut found: Vec<Signal> = Vec::new();
    let announced = reading.sentences.iter().any(|sentence| ANNOUNCED.find(reading.words(sentence)).is_some());
    let (mut asked_at, mut told_at) = (None, None);
    for (at, sentence) in reading.sentences.iter().enumerate() {
        let tokens = reading.words(sentence);
        let behind = reading.sentences.get(at + 1..).unwrap_or_default();
        let hit = if sentence.mark == '?' {
            question(sentence, tokens, answered(reading, behind), announced)
        } else {
            statement(reading, sentence, tokens, at)
        };
        match hit.as_ref().map(|signal| signal.kind) {
            Some(SignalKind::Clarification | SignalKind::Offer) => asked_at = Some(at),
            Some(SignalKind::Completion) => told_at = Some(at),
            _ => {}
        }
        found.extend(hit);
    }
    let completion = found.iter().rposition(|signal| signal.kind == SignalKind::Completion);
    let complete = completion.is_some_and(|done| {
        let later = found.get(done + 1..).unwrap_or_default();
        !later.iter().any(|signal| matches!(signal.kind, SignalKind::Unfinished | SignalKind::Clarification))
            && step.is_none_or(|step| found.get(done).is_some_and(|signal| signal.words.start > step.step.start))
            && !found
                .get(..done)
                .unwrap_or_default()
                .iter()
                .any(|s| s.kind == SignalKind::Unfinished && s.rule == "remaining")
    });
    let asks = asked_at.is_some_and(|asked| told_at.is_none_or(|told| told < asked))
        && step.is_none_or(|step| {
            let last = asked_at.and_then(|at| reading.sentences.get(at));
            last.is_some_and(|sentence| sentence.bytes.start > step.sentence.start)
        });
    Signals { found, complete, asks }
}

fn signal(
    kind: SignalKind,
    rule: &'static str,
    sentence: &Sentence,
    tokens: &[Token],
    at: usize,
    length: usize,
) -> Signal {
    let start = tokens.get(at).map_or(sentence.bytes.start, |token| token.start);
    let end = tokens.get((at + length).saturating_sub(1)).map_or(sentence.bytes.end, |token| token.end).max(start);
    Signal { kind, rule, words: start..end, sentence: sentence.bytes.clone() }
}

fn word(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |token| token.word.as_str())
}

// ---- completion -----------------------------------------------------------------------------------------------------

/// States in which work is over.
static DONE: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "done|complete|completed|finished|finalized|resolved|fixed|implemented|solved|accomplished|ready|working|passing|\
    deployed|merged|concluded|fulfilled|closed|shipped|live|installed|configured|added|updated|removed|created|migrated|\
    renamed|refactored|applied|committed|pushed|published|achieved|wrapped",
    )
});
/// Those that say it without a subject.
static DONE_ALONE: LazyLock<Words> =
    LazyLock::new(|| Words::new("done|complete|completed|finished|fixed|resolved|implemented|solved|accomplished"));
/// What a writer did.
/// Names of work, for "implementation complete".
static WORK: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "implementation|migration|setup|refactor|refactoring|fix|deployment|build|installation|upgrade|cleanup|update|\
    analysis|review|conversion|import|export|backup|merge|release|rename|rewrite",
    )
});

static DID: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "done|completed|finished|fixed|implemented|resolved|solved|added|updated|created|written|wrote|removed|deleted|\
    renamed|refactored|migrated|deployed|merged|committed|pushed|published|installed|configured|built|applied|changed|\
    replaced|moved|converted|corrected|set|made|cleaned|wrapped|finalized|addressed|successfully|accomplished|optimized|\
    documented|tested|verified|generated|upgraded|translated|summarized|extracted|put|adjusted|improved|restored|sent|\
    booked|scheduled|ordered|saved|prepared|enabled|disabled|reverted|rewritten|split|bumped|patched",
    )
});
/// Those that only prepare the work: reading is not having done it.
static TAKES_BACK: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "not|never|almost|nearly|partially|partly|half|barely|hardly|once|when|until|till|before|if|unless|after|whether|will|\
    would|should|could|can|must|may|might|shall|cannot|need|needs|needed|being|get|gets|getting|far|to|no|without|how|\
    what|nothing|soon|mostly|because|while|as|want|wants|hope|about|supposed|expected|neither|halfway|only|failed|cannot",
    )
});

static WHOLE: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            "finished",
            "all done|all set|everything is in place|that is it|that is all|we are all set|you are all set|mission accomplished|\
             job done|task complete|task completed|task done|work complete|no further changes are needed|\
             no further changes are required|no further action is needed|no further action is required|no more work is needed|\
             nothing else needs to be done|nothing left to do|nothing more to do|there is nothing left to do|\
             there is nothing more to do|that does it|that should do it|that completes|this completes|that concludes|\
             this concludes|good to go|wrapped up|wraps up|nothing remains to be done|no remaining work",
        ),
        (
            "works",
            "works as expected|now works|works now|work as expected|everything works|all tests pass|all tests are passing|tests all pass|all tests now pass|all checks pass|all green|now passes|now pass|tests passed|checks passed|tests pass|tests are green|was able to fix|was able to resolve|was able to complete|managed to fix",
        ),
    ])
});

static REMAINS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            "not_yet",
            "not done|not yet done|not complete|not completed|not finished|not yet complete|not yet completed|not yet finished|\
             not fully done|not quite done|not fully complete|not entirely done|not entirely complete|not ready|not yet ready|not fixed|not yet fixed|not resolved|\
             not yet|almost done|almost complete|almost finished|almost there|nearly done|nearly complete|nearly finished|\
             half done|halfway done|partially complete|partially done|partially completed|partly done|far from done|\
             far from complete|incomplete|unfinished|still failing|still fails|still fail|not working|does not work|\
             do not work|still in progress|in progress|far from finished|not everything is|not all of|could not complete|\
             could not finish|was not able to|were not able to|am not able to|unable to complete|unable to finish|\
             not implemented|not passing|not solved",
        ),
        (
            "remaining",
            "still to do|remains to be done|remain to be done|left to do|still need to|still needs to|still have to|\
             still needs|still missing|still needs work|more work is needed|still a few|still some|still pending|remaining steps|still working on|part remains|work remains|steps remain|remains open|remain open|still open|is pending|are pending|are left|is left|rest remains",
        ),
    ])
});

/// A claim that the rest of its sentence takes back: "done, but not tested", "finished the first part".
fn statement(reading: &Reading, sentence: &Sentence, tokens: &[Token], position: usize) -> Option<Signal> {
    let found = claim(reading, sentence, tokens, position)?;
    if found.kind != SignalKind::Completion {
        return Some(found);
    }
    let behind = tokens.iter().position(|token| token.start >= found.words.end).unwrap_or(tokens.len());
    let rest = tokens.get(behind..).unwrap_or_default();
    let partly =
        rest.iter().take(4).any(|token| matches!(token.word.as_str(), "part" | "half" | "some" | "most" | "first"));
    let turn = rest
        .iter()
        .position(|token| matches!(token.word.as_str(), "but" | "however" | "except" | "although" | "though"));
    let open = |token: &Token| {
        matches!(
            token.word.as_str(),
            "not"
                | "still"
                | "fail"
                | "fails"
                | "failed"
                | "failing"
                | "yet"
                | "remains"
                | "remain"
                | "need"
                | "needs"
                | "broken"
                | "missing"
                | "untested"
                | "incomplete"
        )
    };
    let taken = turn.is_some_and(|at| rest.iter().skip(at).any(open))
        || (found.rule == "works"
            && tokens.iter().any(|token| matches!(token.word.as_str(), "failed" | "fail" | "failing")));
    if partly || taken {
        return Some(Signal { kind: SignalKind::Unfinished, rule: if partly { "part" } else { "but" }, ..found });
    }
    Some(found)
}

fn claim(reading: &Reading, sentence: &Sentence, tokens: &[Token], position: usize) -> Option<Signal> {
    if let Some(asking) = request(sentence, tokens) {
        return Some(asking);
    }
    let whole = WHOLE.find(tokens).filter(|(_, at, _)| !taken_back(tokens, *at));
    if whole.is_none()
        && let Some((rule, at, length)) = REMAINS.find(tokens)
        && !is_double(tokens, at, length)
    {
        return Some(signal(SignalKind::Unfinished, rule, sentence, tokens, at, length));
    }
    if let Some((rule, at, length)) = whole {
        return Some(signal(SignalKind::Completion, rule, sentence, tokens, at, length));
    }
    let listed = |list: &Words, at: usize| list.hold(word(tokens, at));
    // "Done.", "Done: the file is there", "Successfully deployed the app", "Fixed the bug."
    let first = usize::from(matches!(
        word(tokens, 0),
        "ok" | "okay" | "great" | "and" | "now" | "perfect" | "yes" | "alright" | "all"
    ));
    if listed(&DONE_ALONE, first)
        && (tokens.len() == first + 1
            || tokens.get(first + 1).is_some_and(|token| token.after_mark)
            || matches!(
                word(tokens, first + 1),
                "with" | "and" | "now" | "the" | "all" | "successfully" | "it" | "that" | "this" | "both" | "your"
            ))
        && !sentence.heading
        && !(sentence.item && reading.sentences.len() > position + 1 && tokens.len() == first + 1)
        && (sentence.mark != ':' || tokens.len() == first + 1)
    {
        return Some(signal(SignalKind::Completion, "alone", sentence, tokens, first, 1));
    }
    // "Implementation complete."
    if tokens.len() == first + 2 && listed(&WORK, first) && listed(&DONE_ALONE, first + 1) && !sentence.heading {
        return Some(signal(SignalKind::Completion, "alone", sentence, tokens, first, 2));
    }
    if word(tokens, first) == "successfully" && listed(&DID, first + 1) {
        return Some(signal(SignalKind::Completion, "alone", sentence, tokens, first, 2));
    }
    for at in 0..tokens.len() {
        let here = word(tokens, at);
        let adverbs = |mut next: usize| {
            while matches!(
                word(tokens, next),
                "now"
                    | "all"
                    | "been"
                    | "successfully"
                    | "also"
                    | "just"
                    | "fully"
                    | "already"
                    | "both"
                    | "completely"
                    | "therefore"
            ) {
                next += 1;
            }
            next
        };
        match here {
            // "The task is now complete", "has been fixed", "tests are passing"
            "is" | "are" | "am" | "has" | "have" => {
                let next = adverbs(at + 1);
                let subject = at.checked_sub(1).and_then(|at| tokens.get(at));
                let writer = subject.is_some_and(|token| matches!(token.word.as_str(), "i" | "we"));
                let reader = subject.is_none_or(|token| {
                    matches!(token.word.as_str(), "you" | "which" | "that" | "who" | "user" | "they")
                });
                let perfect = matches!(here, "has" | "have");
                let hit = if perfect && writer {
                    listed(&DID, next)
                } else if perfect {
                    tokens.get(at + 1..next).is_some_and(|some| some.iter().any(|token| token.word == "been"))
                        && listed(&DONE, next)
                } else {
                    listed(&DONE, next)
                        && !matches!(
                            word(tokens, next),
                            "added"
                                | "updated"
                                | "removed"
                                | "created"
                                | "renamed"
                                | "applied"
                                | "closed"
                                | "configured"
                                | "installed"
                                | "wrapped"
                                | "live"
                                | "published"
                        )
                };
                let rule = if writer { "i_did" } else { "it_is" };
                let relative = here != "have" && subject.is_some_and(|token| token.word == "that") && at > 1;
                // "is ready to be tested" is done; "is done by the server" tells how it works.
                let habit = matches!(
                    word(tokens, next + 1),
                    "by" | "via" | "using" | "through" | "in" | "automatically" | "with" | "on" | "every"
                ) && !perfect
                    && !matches!(word(tokens, next), "ready" | "complete");
                if hit
                    && (!reader || (subject.is_some_and(|t| t.word == "that") && !relative))
                    && !habit
                    && !taken_back(tokens, at)
                    && !taken_back_behind(tokens, next)
                {
                    return Some(signal(SignalKind::Completion, rule, sentence, tokens, at, next + 1 - at));
                }
            }
            // "I fixed the bug", "I just added a test"
            "i" | "we" if !taken_back(tokens, at) => {
                let next = adverbs(at + 1);
                let act = word(tokens, next);
                if listed(&DID, next)
                    && !matches!(
                        act,
                        "set" | "put" | "made" | "successfully" | "split" | "done" | "tested" | "verified" | "written"
                    )
                    && (at == 0
                        || tokens.get(at).is_some_and(|token| token.after_mark)
                        || word(tokens, at - 1) == "and")
                {
                    return Some(signal(SignalKind::Completion, "i_did", sentence, tokens, at, next + 1 - at));
                }
                if act == "successfully" && listed(&DID, next + 1) {
                    return Some(signal(SignalKind::Completion, "i_did", sentence, tokens, at, next + 2 - at));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether words before `at`, in the same clause, take a claim back.
fn taken_back(tokens: &[Token], at: usize) -> bool {
    let mut next = at;
    let mut left = 8;
    loop {
        if tokens.get(next).is_some_and(|token| token.after_mark && next != 0) {
            // "Once this is done, …" stands in one clause; "It failed once, but it is fixed" in two.
            let opens = next.checked_sub(1).and_then(|_| tokens.first());
            return opens.is_some_and(|first| {
                matches!(first.word.as_str(), "if" | "once" | "unless" | "assuming")
                    && next > 0
                    && word(tokens, next) != "but"
            }) && at - next < 2
                && next == at;
        }
        let Some(before) = next.checked_sub(1) else { return false };
        let word = word(tokens, before);
        if matches!(word, "but") {
            return false;
        }
        if TAKES_BACK.hold(word) {
            return true;
        }
        left -= 1;
        if left == 0 {
            return false;
        }
        next = before;
    }
}

/// "is done when …", "will be complete": words behind that make it a condition.
fn taken_back_behind(tokens: &[Token], at: usize) -> bool {
    matches!(word(tokens, at + 1), "when" | "once" | "if" | "only" | "until" | "except" | "unless" | "yet")
        || matches!(word(tokens, at), "to")
}

/// "nothing is unfinished", "no work left to do".
fn is_double(tokens: &[Token], at: usize, length: usize) -> bool {
    let before = tokens.get(at.saturating_sub(4)..at).unwrap_or_default();
    let conditional =
        tokens.get(..at).unwrap_or_default().iter().any(|token| matches!(token.word.as_str(), "if" | "unless"));
    conditional
        || (word(tokens, at) != "not"
            && length <= 3
            && before.iter().any(|token| matches!(token.word.as_str(), "nothing" | "no" | "none" | "not" | "never")))
}

// ---- questions ------------------------------------------------------------------------------------------------------

/// Requests that stand without a question mark, and inside questions.
static REQUESTS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            "please",
            "please provide|please specify|please clarify|please confirm|please share|please tell|please tell me|please choose|\
             please select|please pick|please paste|please upload|please attach|please describe|please give me|please send|\
             please send me|please indicate|please elaborate|please explain|please let me know which|please let me know what|\
             please let me know how|please let me know whether|please let me know where|please let me know when|\
             please let me know the|please let me know your|please advise|please answer|please supply|please enter|please reply|\
             kindly provide|kindly confirm|kindly specify|please point me|please state|please identify",
        ),
        (
            "need",
            "i need to know|i need more information|i need more details|i need more context|i need some more|i need you to|\
             i need your|i need the following|i need a bit more|i need some information|i need some details|i need clarification|\
             i need a few|i will need to know|i will need the|i will need your|i will need you|i will need more|\
             i would need to know|i would need the|i would need more|i require|could use some clarification|\
             i do not have enough|i do not have the|without knowing|i am not sure which|i am not sure what you|\
             i am unsure which|i am unclear|it is unclear which|it is unclear what you|it is unclear whether|it is not clear which|\
             it is not clear what you|it is not clear whether|i could use more|i have a few questions|i have some questions|\
             i have a question|i have one question|i have two questions|i have three questions|a few questions|\
             need a little more information|more information is needed|more details are needed|i can not proceed without|\
             i can not continue without|before i can|i am missing",
        ),
        (
            "let_me_know",
            "let me know which|let me know what|let me know how you|let me know whether|let me know where|let me know when you|\
             let me know your|let me know the|tell me which|tell me what|tell me whether|tell me where|tell me how you|\
             let me know if you want me|let me know if you would prefer|let me know if i should|tell me if i should|\
             waiting for your|awaiting your|i await your",
        ),
    ])
});

/// Courtesies that look like requests.
static COURTESY: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "anything else|something else|any questions|any other questions|further questions|does that help|does this help|does that make sense|\
         does this make sense|make sense|makes sense|how can i help|how may i help|how can i assist|how may i assist|\
         what can i do for you|what can i help|hope this helps|hope that helps|sound good|sounds good|isn't it|how are you|\
         need more help|need further help|need further assistance|need any help|need anything|like to know more|\
         like to know anything|have questions|have any questions|have any other|have further|what would you like to do today|\
         any feedback|any concerns|run into any|any issues",
    )])
});

static ANNOUNCED: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "a few questions|some questions|following questions|these questions|a couple of questions|two questions|three questions|\
         clarifying questions|a few details|a few things|following information|following details|need to know|before i start|\
         before i begin|before i proceed|before i continue|before proceeding|before we proceed|need clarification|\
         quick question|one question|a question|need some clarification|some clarification|need more information|need more details",
    )])
});

static OFFERS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[(
        "offer",
        "would you like me to|do you want me to|would you prefer i|should i|shall i|should we|shall we|want me to|can i|may i|\
         could i|would it be ok if i|would it help if i|ok if i|okay if i|ok to proceed|okay to proceed|is it ok to|\
         would you like to proceed|do you want to proceed|would you like to continue|do you want to continue|proceed|\
         is it alright if i|would you like us to|do you want us to|ready to proceed|ready for me to",
    )])
});

static ASKS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            "can_you",
            "could you clarify|can you clarify|could you specify|can you specify|could you provide|can you provide|could you confirm|\
             can you confirm|could you share|can you share|could you tell|can you tell|could you please|can you please|\
             would you please|would you mind|could you give|can you give|could you send|can you send|could you explain|\
             can you explain|could you elaborate|can you elaborate|could you describe|can you describe|could you paste|\
             can you paste|could you upload|can you upload|could you point|can you point|could you let me know|\
             can you let me know|could you say|could you let|could you show|can you show|could you check|can you check|\
             could you run|can you run|could you verify|can you verify|could you double-check|would you be able to|\
             are you able to|would you clarify|could you attach|could you grant|can you grant",
        ),
        (
            "your_choice",
            "do you want|do you prefer|would you prefer|would you rather|would you like|did you mean|do you mean|are you referring|\
             are you using|are you looking for|are you asking|are you trying|are you sure|do you need|do you have|have you|are there any|\
             is there a|is there any|were you|are you on|are you running|you would like|you want|you mean|you prefer|you are using|\
             you referring|you would prefer|is your|are your|was your|do your|does your|is that what you|which do you|\
             you expect|you see|you get|you need|you have in mind|are you|did you|do you|is that right|is that correct|is this correct|is this what you",
        ),
    ])
});

/// Questions that are figures of speech.
static FIGURES: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::new(&[(
        (),
        "have you ever|ever wondered|you might ask|you may ask|you might wonder|you may wonder|you ask|who knows|why not|so what|\
         what if|what could go wrong|how hard can it be|who would have thought|the question is|guess what|what do you get|\
         what does this mean|what does that mean|see what|isn't|is not it|is not that|do not you|does not it|right|the catch|the result|\
         the best part|you know what|you know why|the reason|but why|how come|how so|the problem|the answer|the bottom line",
    )])
});

/// A statement that asks: "Please provide the path."
fn request(sentence: &Sentence, tokens: &[Token]) -> Option<Signal> {
    if let Some(((), at, length)) = COURTESY.find(tokens) {
        let asks =
            tokens.iter().take(4).any(|token| matches!(token.word.as_str(), "let" | "please" | "feel" | "if" | "hope"));
        return asks.then(|| signal(SignalKind::Courtesy, "courtesy", sentence, tokens, at, length));
    }
    let (rule, at, length) = REQUESTS.find(tokens)?;
    // "You can choose which; please confirm" counts, "the form says please provide" does not.
    let clause = at == 0
        || tokens.get(at).is_some_and(|token| token.after_mark)
        || matches!(
            word(tokens, at - 1),
            "so" | "and"
                | "but"
                | "then"
                | "can"
                | "could"
                | "would"
                | "you"
                | "first"
                | "however"
                | "just"
                | "also"
                | "continue"
                | "proceed"
                | "this"
                | "or"
        );
    let told = word(tokens, at) == "i"
        && tokens
            .get(..at)
            .is_some_and(|some| some.iter().any(|t| matches!(t.word.as_str(), "file" | "everything" | "now")));
    let mine = rule == "need" && tokens.iter().any(|token| token.word == "myself");
    (clause && !told && !mine).then(|| signal(SignalKind::Clarification, rule, sentence, tokens, at, length))
}

/// Whether what stands behind a question goes on telling, rather than listing choices or courtesies.
fn answered(reading: &Reading, behind: &[Sentence]) -> bool {
    behind.iter().any(|sentence| {
        let tokens = reading.words(sentence);
        sentence.mark != '?'
            && !sentence.item
            && !matches!(
                word(tokens, 0),
                "thanks"
                    | "thank"
                    | "please"
                    | "let"
                    | "if"
                    | "otherwise"
                    | "for"
                    | "once"
                    | "e.g"
                    | "either"
                    | "option"
                    | "options"
                    | "or"
                    | "this"
                    | "i"
                    | "that"
                    | "both"
            )
            && REQUESTS.find(tokens).is_none()
    })
}

fn question(sentence: &Sentence, tokens: &[Token], answered: bool, announced: bool) -> Option<Signal> {
    let last = tokens.len();
    let all = |kind, rule| Some(signal(kind, rule, sentence, tokens, 0, last));
    if sentence.heading {
        return all(SignalKind::Rhetorical, "heading");
    }
    if let Some(((), at, length)) = COURTESY.find(tokens) {
        return Some(signal(SignalKind::Courtesy, "courtesy", sentence, tokens, at, length));
    }
    if let Some((rule, at, length)) = ASKS.find(tokens).filter(|(rule, _, _)| *rule == "can_you") {
        return Some(signal(SignalKind::Clarification, rule, sentence, tokens, at, length));
    }
    let figure = FIGURES.find(tokens).filter(|((), at, length)| {
        // A tag at the end or an opening; "right" inside a question is a word like any other.
        *at == 0 || at + length == last || *length > 1
    });
    if let Some(((), at, length)) =
        figure.filter(|((), at, length)| answered || *at > 0 || *length == last || word(tokens, 1) == "not")
        && OFFERS.find(tokens).is_none()
    {
        return Some(signal(SignalKind::Rhetorical, "figure", sentence, tokens, at, length));
    }
    if let Some((rule, at, length)) = OFFERS.find(tokens) {
        let choice = matches!(word(tokens, 0), "which" | "what" | "where" | "how" | "when" | "who")
            || tokens.iter().any(|token| token.word == "or");
        let kind = if choice { SignalKind::Clarification } else { SignalKind::Offer };
        return Some(signal(kind, rule, sentence, tokens, at, length));
    }
    if let Some((rule, at, length)) = ASKS.find(tokens)
        && (!answered || announced || !matches!(word(tokens, 0), "why" | "how" | "what"))
    {
        return Some(signal(SignalKind::Clarification, rule, sentence, tokens, at, length));
    }
    if answered && !announced {
        return all(SignalKind::Rhetorical, "answered");
    }
    let opens = word(tokens, usize::from(matches!(word(tokens, 0), "and" | "so" | "also" | "but" | "or")));
    let asks = matches!(
        opens,
        "which"
            | "what"
            | "where"
            | "who"
            | "when"
            | "how"
            | "is"
            | "are"
            | "does"
            | "do"
            | "should"
            | "will"
            | "whose"
            | "can"
            | "could"
            | "did"
            | "was"
    );
    if announced || asks || tokens.iter().any(|token| matches!(token.word.as_str(), "or" | "your" | "you")) {
        return all(SignalKind::Clarification, "open_question");
    }
    if opens == "why" {
        return all(SignalKind::Rhetorical, "figure");
    }
    // In a language whose words are not known, a question at the end is one to the reader.
    let known = tokens.iter().any(|token| token.kind == Kind::Plain && token.word.is_ascii());
    all(if known && last <= 2 { SignalKind::Rhetorical } else { SignalKind::Clarification }, "open_question")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c23_claims_of_completion() {
        for text in [
            "Done.",
            "All done! The tests pass.",
            "The task is complete.",
            "I've fixed the bug and added a test.",
            "I fixed the bug in `parse`.",
            "The migration has been completed successfully.",
            "Everything is in place.",
            "All tests pass.",
            "The feature is now fully implemented.",
            "I have finished. Would you like me to commit it?",
            "That's it, nothing left to do.",
            "It failed at first, but it is fixed now.",
            "Successfully deployed the app.",
            "Fixed the typo in the heading.",
            "All 12 tests passed.",
        ] {
            assert!(signals(text).complete, "{text} {:?}", signals(text));
        }
    }

    #[test]
    fn c23_what_claims_nothing() {
        for text in [
            "Not done yet.",
            "Once this is done, restart the server.",
            "It isn't complete.",
            "I'm almost done.",
            "The work will be done tomorrow.",
            "When everything is finished I'll report.",
            "This needs to be done first.",
            "Is it done?",
            "`done` is a keyword of the shell.",
            "```\nDone.\n```",
            "He said \"all done\".",
            "If the build is complete, continue.",
            "This is done by the scheduler.",
            "I've read the file. Now I'll fix it.",
            "I've updated the parser, but the tests are still failing.",
            "The function is not implemented.",
            "Abandoned work is undone.",
            "",
            "The refactor is done, but I haven't run the tests yet.",
            "I finished the first part. The second part remains.",
            "10 tests passed, 2 failed.",
            "Two of the three steps are done. I still need to update the docs.",
        ] {
            assert!(!signals(text).complete, "{text} {:?}", signals(text));
        }
    }

    #[test]
    fn c23_questions_to_the_reader() {
        for text in [
            "There are two. Could you clarify which file you mean?",
            "Please provide the path.",
            "Which branch should I use?",
            "Do you want tabs or spaces?",
            "Would you like me to commit it?",
            "Should I go on?",
            "I need to know which database you use.",
            "Before I start, I have a few questions:\n1. What is the deadline?\n2. Who reads it?",
            "Let me know which one you prefer.",
            "Which file do you mean? There are two:\n- a.py\n- b.py",
            "It's unclear which server you mean.",
            "Python 2 or 3?",
            "¿Qué archivo quieres decir?",
            "I can't find it. What is the name of the file?",
        ] {
            assert!(signals(text).asks, "{text} {:?}", signals(text));
        }
    }

    #[test]
    fn c23_questions_that_want_no_answer() {
        for text in [
            "It is 4. Is there anything else?",
            "You could clarify butter.",
            "Why does it fail? Because the index starts at 1.",
            "So what went wrong? The cache was stale.",
            "# What is a monad?\nA monoid.",
            "Does that make sense?",
            "> Which file?\n\nThe file is `a.py`.",
            "Let me know if you have any questions.",
            "The form says \"please provide the path\".",
            "What does this mean? It means that the lock is held.",
            "Have you ever wondered why? Here is the reason.",
            "How can I help?",
            "It works. Isn't that neat?",
            "",
            "I asked which one. You said the first. Done.",
        ] {
            assert!(!signals(text).asks, "{text} {:?}", signals(text));
        }
    }

    #[test]
    fn c23_the_words_that_decided_are_named() {
        let text = "Ready. The task is now complete. Which one?";
        let all = signals(text);
        let done = all.found.iter().find(|s| s.kind == SignalKind::Completion).unwrap();
        assert_eq!(&text[done.words.clone()], "is now complete");
        assert_eq!(&text[done.sentence.clone()], "The task is now complete.");
    }

    proptest::proptest! {
        #[test]
        fn c20_c23_no_text_breaks_it(text in "(\\PC|done|i will|let me|\\?|\\.|`|\"|'|\n| |> |- |```|我|’s|n't){0,60}") {
            let all = signals(&text);
            for signal in &all.found {
                proptest::prop_assert!(text.get(signal.words.clone()).is_some() && text.get(signal.sentence.clone()).is_some());
            }
            if let Some(step) = crate::next_step::next_step(&text) {
                proptest::prop_assert!(text.get(step.step).is_some() && text.get(step.cue).is_some() && text.get(step.sentence).is_some());
            }
        }
    }
}
