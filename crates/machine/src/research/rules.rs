//! Rules in place of a model: queries, an outline, plans and sections. Deterministic: the same state gives the same
//! words. Used where there is no model, and where one fails.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{
    check::Statement,
    hashing::{cosine, hash_vector},
    state::{Action, Chunk, PlannedBy, ResearchPlan, ResearchState, Topic},
};
use loopwright_base::{sources::Source, text::clip};
use loopwright_lexicon::{
    lines::Format,
    sentences::{Kind, leans, sentences},
    words,
};
use loopwright_retrieve::{analysis::Trend, extractive, marks};

/// Topics of an outline, and subtopics of each.
const TOPICS: usize = 5;
const SUBTOPICS: usize = 3;
/// Searches of a plan.
const SEARCHES: usize = 3;
/// Statements of a section, and those that there should be.
const MAX_STATEMENTS: usize = 7;
const MIN_STATEMENTS: usize = 3;
/// The part of the best heading's worth below which a heading is no topic.
const MIN_WORTH: f32 = 0.4;
/// The relevance below which latent topics are left alone.
const MIN_RELEVANCE: f32 = 0.6;
/// The similarity from which two sentences say the same.
const SAME_SENTENCE: f32 = 0.8;
/// Words that say nothing as a heading.
const EMPTY_HEADINGS: [&str; 24] = [
    "introduction",
    "overview",
    "contents",
    "table of contents",
    "index",
    "readme",
    "home",
    "about",
    "references",
    "notes",
    "summary",
    "conclusion",
    "see also",
    "license",
    "faq",
    "appendix",
    "abstract",
    "untitled",
    "changelog",
    "examples",
    "example",
    "menu",
    "navigation",
    "further reading",
];
/// Sentences that belong to a page and say nothing of its subject, or that speak to whoever reads.
const BOILERPLATE: [&str; 22] = [
    "cookie",
    "subscribe",
    "all rights reserved",
    "click here",
    "sign up",
    "log in",
    "newsletter",
    "privacy policy",
    "terms of service",
    "terms of use",
    "read more",
    "share this",
    "follow us",
    "copyright",
    "javascript",
    "advertisement",
    "ignore previous",
    "ignore all",
    "system prompt",
    "you are an ai",
    "as an ai",
    "disregard",
];
/// Three broad queries: the question, its words, and half of them.
pub(super) fn broad_queries(query: &str) -> Vec<String> {
    let asked = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let keys = key_words(query);
    let mut all = vec![clip(&asked, 300)];
    if !keys.is_empty() {
        all.push(keys.join(" "));
    }
    if keys.len() > 2 {
        let half = keys.len().div_ceil(2);
        all.push(keys.iter().skip(keys.len() - half).cloned().collect::<Vec<_>>().join(" "));
    } else if let Some(first) = keys.first() {
        all.push(format!("{first} overview"));
    }
    let mut seen = HashSet::new();
    all.retain(|query| seen.insert(query.to_lowercase()));
    all
}

/// The words of a text that are worth asking for, as they stand there, each once.
pub(super) fn key_words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let terms = words::terms(bare);
        if let Some(term) = terms.first()
            && all.len() < 12
            && bare.chars().count() <= 40
            && seen.insert(term.clone())
        {
            all.push(bare.to_owned());
        }
    }
    all
}

/// The words that tell some chunks from all others, as they stand there, the most telling first.
pub(super) fn distinctive_words(chunks: &[&Chunk], all: &[Chunk], avoid: &HashSet<String>, most: usize) -> Vec<String> {
    let mut holding: HashMap<String, usize> = HashMap::new();
    for chunk in all {
        let terms: HashSet<String> = words::terms(&chunk.text).into_iter().collect();
        for term in terms {
            *holding.entry(term).or_default() += 1;
        }
    }
    let mut counts: BTreeMap<String, (f64, BTreeMap<String, usize>)> = BTreeMap::new();
    for chunk in chunks {
        for word in chunk.text.split(|c: char| !c.is_alphanumeric() && c != '-') {
            let word = word.trim_matches('-');
            let length = word.chars().count();
            let [term] = &words::terms(word)[..] else { continue };
            if (3..=24).contains(&length) && word.chars().all(char::is_alphabetic) && !avoid.contains(term) {
                let (count, forms) = counts.entry(term.clone()).or_default();
                *count += 1.0;
                *forms.entry(word.to_lowercase()).or_default() += 1;
            }
        }
    }
    let mut scored: Vec<(f64, String)> = counts
        .into_iter()
        .map(|(term, (count, forms))| {
            let rare = (1.0 + all.len() as f64 / holding.get(&term).copied().unwrap_or(1).max(1) as f64).ln();
            let form = forms.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
            (count.sqrt() * rare, form.map(|(form, _)| form).unwrap_or_default())
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(most).map(|(_, form)| form).collect()
}

/// The share of a question's words in each chunk, rare ones counting more: from 0 to 1.
pub(super) fn relevance(query: &str, chunks: &[Chunk]) -> Vec<f32> {
    let asked = terms_of(query);
    let held: Vec<HashSet<String>> = chunks
        .iter()
        .map(|chunk| {
            let mut terms = terms_of(&chunk.text);
            terms.extend(terms_of(&chunk.heading));
            terms
        })
        .collect();
    let mut weights: Vec<(&String, f32)> = asked
        .iter()
        .map(|term| {
            let holding = held.iter().filter(|terms| terms.contains(term)).count();
            (term, (1.0 + chunks.len() as f32 / holding.max(1) as f32).ln())
        })
        .collect();
    // In one order: sums of floats depend on it.
    weights.sort_by(|a, b| a.0.cmp(b.0));
    let all: f32 = weights.iter().map(|(_, weight)| weight).sum();
    let share = |terms: &HashSet<String>| {
        let met: f32 = weights.iter().filter(|(term, _)| terms.contains(*term)).map(|(_, weight)| weight).sum();
        if all > 0.0 { met / all } else { 0.0 }
    };
    held.iter().map(share).collect()
}

fn terms_of(text: &str) -> HashSet<String> {
    words::terms(text).into_iter().collect()
}

/// An outline of what was retrieved: topics are headings and titles of what was kept, else its telling words.
pub(super) fn outline(state: &ResearchState) -> Vec<Topic> {
    let query = hash_vector(&state.query);
    let relevant = relevance(&state.query, &state.all_chunks);
    // The heading that a chunk stands under directly, else the title of its page; worth what stands under it.
    let mut worth: BTreeMap<String, f32> = BTreeMap::new();
    for (chunk, relevance) in state.all_chunks.iter().zip(&relevant) {
        let title = state.sources.get(chunk.source).map(|source| source.title.as_str()).unwrap_or_default();
        let mut names = chunk.heading.rsplit(" > ").chain([title]);
        if let Some(name) = names.find_map(heading) {
            let best = worth.entry(name).or_default();
            *best = best.max(*relevance);
        }
    }
    let mut candidates: Vec<(String, f32)> = worth
        .into_iter()
        .map(|(name, worth)| (name.clone(), worth + 0.5 * cosine(&hash_vector(&name), &query)))
        .collect();
    candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut topics: Vec<Topic> = Vec::new();
    let mut taken: Vec<Vec<f32>> = Vec::new();
    let mut used: HashSet<String> = terms_of(&state.query);
    let best = candidates.first().map_or(0.0, |one| one.1);
    for (name, score) in candidates {
        let vector = hash_vector(&name);
        if score < MIN_WORTH * best && topics.len() > 1 {
            break;
        }
        if topics.len() >= TOPICS || taken.iter().any(|one| cosine(one, &vector) > 0.6) {
            continue;
        }
        let related = nearest_chunks(state, &vector, 4);
        let mut avoid = used.clone();
        avoid.extend(terms_of(&name));
        let subtopics = distinctive_words(&related, &state.all_chunks, &avoid, SUBTOPICS);
        used.extend(subtopics.iter().flat_map(|one| words::terms(one)));
        taken.push(vector);
        topics.push(Topic { topic: name, subtopics });
    }
    if topics.is_empty() {
        // No headings to go by: what is asked, then what the kept chunks speak of.
        topics = question_topic(state);
    }
    if topics.len() < 2 {
        let all: Vec<&Chunk> = state.all_chunks.iter().collect();
        let avoid: HashSet<String> = topics.iter().flat_map(|one| words::terms(&one.topic)).chain(used).collect();
        let found = distinctive_words(&all, &state.all_chunks, &avoid, 9);
        for three in found.chunks(3).take(TOPICS - 1 - topics.len()) {
            if let [first, rest @ ..] = three {
                topics.push(Topic { topic: title_case(first), subtopics: rest.to_vec() });
            }
        }
    }
    topics
}

/// One topic: the question.
pub(super) fn question_topic(state: &ResearchState) -> Vec<Topic> {
    vec![Topic { topic: clip(&super::plan::one_line(&state.query, 200), 120), subtopics: Vec::new() }]
}

fn heading(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | '('));
    let text = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
    let length = text.chars().count();
    let is_path = text.contains('/') || text.rsplit_once('.').is_some_and(|(_, end)| (1..=5).contains(&end.len()));
    let good = (3..=80).contains(&length) && !is_path && !EMPTY_HEADINGS.contains(&text.to_lowercase().as_str());
    (good && !is_numbered(text) && !words::terms(text).is_empty()).then(|| super::plan::one_line(text, 80))
}

/// Returns whether a title is a number and no more: `text 3`, `Page 12`, `Untitled 2`.
fn is_numbered(text: &str) -> bool {
    const KINDS: [&str; 14] = [
        "text", "page", "document", "doc", "note", "file", "untitled", "part", "chunk", "item", "entry", "source",
        "slide", "sheet",
    ];
    let (kind, number) = text.rsplit_once(|c: char| !c.is_ascii_digit()).unwrap_or((text, ""));
    let kind = if number.is_empty() { text } else { kind };
    KINDS.contains(&kind.trim_end_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str())
}

pub(super) fn title_case(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn nearest_chunks<'a>(state: &'a ResearchState, vector: &[f32], most: usize) -> Vec<&'a Chunk> {
    let mut all: Vec<(f32, usize)> = state
        .all_chunks
        .iter()
        .enumerate()
        .map(|(at, chunk)| (cosine(&hash_vector(&format!("{} {}", chunk.heading, chunk.text)), vector), at))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(most).filter_map(|(_, at)| state.all_chunks.get(at)).collect()
}

/// The input of the rule planner.
pub(super) struct RulePlanInput<'a> {
    pub(super) state: &'a ResearchState,
    pub(super) trend: Trend,
    pub(super) is_dry: bool,
    pub(super) latent: &'a [(String, f32)],
    pub(super) most_topics: usize,
}

/// A plan: the topics that are covered least, with words that have not been asked for. Without any such words nothing
/// is left to do, and the plan is empty.
pub(super) fn plan(given: &RulePlanInput<'_>, repeats: impl Fn(&str, &[String]) -> bool) -> ResearchPlan {
    let state = given.state;
    let mut topics: Vec<(f32, &Topic)> = state
        .outline
        .iter()
        .map(|topic| {
            let covered = state
                .last_coverage_vector
                .as_ref()
                .and_then(|coverage| coverage.topics.iter().find(|one| one.name == topic.topic).map(|one| one.covered));
            (covered.unwrap_or(0.0), topic)
        })
        .collect();
    topics.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut plan = Vec::new();
    let mut chosen: Vec<String> = Vec::new();
    let mut add = |topic: &str, query: String, plan: &mut Vec<Action>| {
        let query = super::plan::one_line(&query, 300);
        if words::terms(&query).is_empty() || repeats(&query, &chosen) {
            return false;
        }
        chosen.push(query.clone());
        plan.push(Action::Search { query, target_outline_topic: topic.to_owned() });
        true
    };
    let keys = key_words(&state.query);
    let stalls = given.trend == Trend::Stalling || given.is_dry;
    let relevant = given.latent.iter().find(|(_, relevance)| *relevance >= MIN_RELEVANCE);
    if let Some((label, _)) = relevant.filter(|_| state.outline.len() < given.most_topics.min(TOPICS + 1)) {
        let topic = Topic { topic: title_case(label), subtopics: Vec::new() };
        if add(&topic.topic, format!("{label} {}", keys.first().map_or("", String::as_str)), &mut plan) {
            plan.insert(0, Action::AddToOutline { topic: topic.topic, subtopics: topic.subtopics });
        }
    }
    for (_, topic) in &topics {
        if plan.len() >= SEARCHES {
            break;
        }
        let mut avoid = terms_of(&topic.line());
        avoid.extend(terms_of(&state.query));
        avoid.extend(state.queries.iter().flat_map(|one| words::terms(&one.query)));
        let vector = state.topic_vector(&topic.topic);
        let vector = if vector.is_empty() { hash_vector(&topic.line()) } else { vector };
        let fresh = distinctive_words(&nearest_chunks(state, &vector, 3), &state.all_chunks, &avoid, 4);
        let mut queries = vec![topic.topic.clone()];
        queries.extend(topic.subtopics.iter().map(|one| format!("{} {one}", topic.topic)));
        queries.push(format!("{} {}", topic.topic, keys.join(" ")));
        for pair in fresh.chunks(2) {
            queries.push(format!("{} {}", keys.first().map_or("", String::as_str), pair.join(" ")));
            queries.push(pair.join(" "));
        }
        if stalls {
            // Another angle: what has not been said at all goes first.
            queries.reverse();
        }
        for query in queries {
            if add(&topic.topic, query, &mut plan) {
                break;
            }
        }
    }
    let critique = match topics.first() {
        Some((covered, topic)) => format!(
            "\u{201c}{}\u{201d} is covered least ({covered:.2}); the trend is: {}",
            topic.topic,
            given.trend.words()
        ),
        None => "There is no outline.".to_owned(),
    };
    let thought = "By rules: search for the topics that are covered least, with words that have not been asked for.";
    ResearchPlan { critique, thought: thought.to_owned(), plan, refused: Vec::new(), by: PlannedBy::Rules }
}

/// Quotes that answer the question most directly: pairs of a passage's place and a sentence.
pub(super) fn answer(query: &str, sources: &[Source]) -> Vec<(usize, String)> {
    let options =
        extractive::Options { most: 4, least: 2, plain: true, strict: false, ..extractive::Options::default() };
    let quotes = extractive::answer(query, sources, &options).quotes;
    let good = quotes.into_iter().filter(|quote| is_statement(&quote.text));
    good.map(|quote| (quote.source, quote.text)).collect()
}

struct Candidate {
    passage: usize,
    place: usize,
    text: String,
    vector: Vec<f32>,
    score: f32,
}

/// A section made of quotes: those that answer the topic, then those nearest to it. `used` are sentences that stand in
/// other sections.
pub(super) fn section(
    (topic, others, query): (&Topic, &[String], &str),
    passages: &[Chunk],
    sources: &[Source],
    used: &HashSet<String>,
) -> Vec<Statement> {
    let asked = hash_vector(&topic.line());
    let of_query = relevance(query, passages);
    let wanted = terms_of(query);
    let name = topic.topic.to_lowercase();
    let none_under = !passages.iter().any(|chunk| chunk.heading.to_lowercase().contains(&name));
    let terms = terms_of(&topic.line());
    let options = extractive::Options {
        most: MAX_STATEMENTS,
        least: 1,
        plain: true,
        strict: false,
        ..extractive::Options::default()
    };
    let quotes = extractive::answer(&topic.line(), sources, &options).quotes;
    let mut all: Vec<Candidate> = Vec::new();
    for (passage, chunk) in passages.iter().enumerate() {
        let under = chunk.heading.to_lowercase().contains(&name);
        // What stands under the heading of another topic is said there.
        let own_heading = chunk.heading.rsplit(" > ").find_map(heading);
        if !under && own_heading.is_some_and(|heading| others.contains(&heading)) {
            continue;
        }
        let units = sentences(&chunk.text, Format::Markdown);
        let mut before: Option<String> = None;
        for (place, unit) in units.iter().enumerate() {
            let raw = chunk.text.get(unit.bytes.clone()).unwrap_or_default();
            let text = marks::clean(raw, unit.kind, true);
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let previous = before.take();
            if unit.kind != Kind::Prose || !is_statement(&text) {
                continue;
            }
            before = Some(text.clone());
            // A sentence that leans on the one before is lifted to it, or left out.
            let whole = match (leans(&text), previous) {
                (true, Some(previous)) => format!("{} {text}", previous.trim_end()),
                (true, None) => continue,
                (false, _) => text.clone(),
            };
            if used.iter().any(|one| one.contains(&whole)) {
                continue;
            }
            let vector = hash_vector(&whole);
            let shares = words::terms(&whole).iter().any(|term| terms.contains(term));
            let is_quote = quotes.iter().any(|quote| quote.source == passage && whole.contains(quote.text.trim()));
            let rank = 0.1 * (1.0 - passage as f32 / passages.len().max(1) as f32);
            let own = words::terms(&whole).iter().filter(|term| wanted.contains(*term)).count();
            let answers = 0.15 * own.min(3) as f32 + 0.3 * of_query.get(passage).copied().unwrap_or(0.0);
            let bonus = if under { 0.35 } else { 0.0 } + if is_quote { 0.3 } else { 0.0 };
            let score = cosine(&vector, &asked) + answers + rank + bonus;
            if under || is_quote || (shares && own > 0) || (none_under && (shares || own > 0)) {
                all.push(Candidate { passage, place, text: whole, vector, score });
            }
        }
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.passage.cmp(&b.passage)).then(a.place.cmp(&b.place)));
    let best = all.first().map_or(0.0, |one| one.score);
    let mut chosen: Vec<Candidate> = Vec::new();
    for candidate in all {
        let enough = chosen.len() >= MIN_STATEMENTS && candidate.score < 0.6 * best;
        if chosen.len() >= MAX_STATEMENTS || enough {
            break;
        }
        let said = |one: &Candidate| {
            cosine(&one.vector, &candidate.vector) > SAME_SENTENCE
                || one.text.contains(&candidate.text)
                || candidate.text.contains(&one.text)
        };
        if !chosen.iter().any(said) {
            chosen.push(candidate);
        }
    }
    // As the sources tell it.
    chosen.sort_by(|a, b| a.passage.cmp(&b.passage).then(a.place.cmp(&b.place)));
    let passages: Vec<usize> = chosen.iter().map(|one| one.passage).collect();
    let statements = chosen.into_iter().enumerate().map(|(at, one)| {
        let ends_paragraph = passages.get(at + 1).is_some_and(|next| *next != one.passage && at % 3 == 2);
        Statement { text: one.text, cites: vec![one.passage + 1], ends_paragraph }
    });
    statements.collect()
}

/// Returns whether a sentence says something by itself.
fn is_statement(text: &str) -> bool {
    let lower = text.to_lowercase();
    let count = text.split_whitespace().count();
    (5..=80).contains(&count)
        && text.ends_with(['.', '!', ')', '"', '\u{201d}'])
        && !text.ends_with('?')
        && text.chars().next().is_some_and(|c| c.is_uppercase() || c.is_numeric() || !c.is_ascii())
        && !BOILERPLATE.iter().any(|words| lower.contains(words))
        // A bracketed number would pass for a citation of ours.
        && !text.contains(['[', ']'])
}
