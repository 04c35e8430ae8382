//! Whether a conversation still serves its goal.
//!
//! Each message gets two scores from 0 to 1: `step` against the message before, and `anchor` against the goal, which
//! nothing overwrites and only the user revises. Words alone decide, or the vectors of an embedder, measured in units
//! of that embedder's own background. A change of state needs to pass one threshold to begin and a lower one to end.

use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::about::{LONGEST, Sketch};
use loopwright_base::{
    error::{Error, Result},
    text::head,
};
use loopwright_lexicon::reading::{Phrases, Reading, Side};

/// Nearness at which sameness and difference are equally likely, and how sharply that turns. Fitted on pairs of
/// requests (`benches/senses_intent/drift.py`).
const MIDDLE: f32 = 0.24;
const SHARPNESS: f32 = 18.4;
/// The same for an embedder, in standard deviations above its background.
const MIDDLE_EMBEDDED: f32 = 1.9;
const SHARPNESS_EMBEDDED: f32 = 1.3;
/// A message that says less than this drifts less: "yes, go on" leads nowhere else.
const TELLING: f32 = 0.6;
/// A message with less evidence than this is no step of its own.
const TAKEN: f32 = 0.5;
/// At most this many parts of a goal are compared one by one.
const MOST_PARTS: usize = 12;
/// Goals that were given up and are remembered.
const MOST_GOALS: usize = 50;

/// Texts on subjects that have nothing to do with each other: what an embedder makes of them is its background.
pub const BACKGROUND: [&str; 12] = [
    "Refactor the authentication module to use signed tokens.",
    "What will the weather be like on Saturday?",
    "Book two seats on the morning train to the coast.",
    "How long should I boil an egg?",
    "My knee hurts after running.",
    "Translate this poem into Italian.",
    "The invoice from March has not been paid.",
    "Which films did that director make in the nineties?",
    "Water the tomatoes twice a week.",
    "Explain how a black hole forms.",
    "Turn down the lights in the bedroom.",
    "Who won the football match last night?",
];

/// Whether the conversation serves its goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftState {
    /// It does.
    #[default]
    OnGoal,
    /// It has gone elsewhere.
    Drifted,
}

impl DriftState {
    /// The name in tables and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnGoal => "on_goal",
            Self::Drifted => "drifted",
        }
    }
}

/// A phrase that announces a change of course.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftPhrase {
    /// Its place in the message.
    pub words: Range<usize>,
    /// What it adds.
    pub weight: f32,
}

/// What is to be said of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// How far it is from the message before: 0 is the same subject, 1 is another.
    pub step: f32,
    /// How far it is from the goal.
    pub anchor: f32,
    /// The state now.
    pub state: DriftState,
    /// Whether the state changed with this message.
    pub changed: bool,
    /// Phrases that announce a change of course.
    pub phrases: Vec<DriftPhrase>,
    /// Words that the message shares with the goal, as stems.
    pub shared: Vec<String>,
    /// How much the message says, from 0 to 1: what says nothing can't drift.
    pub evidence: f32,
}

/// When the state changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriftPolicy {
    /// A conversation whose anchor score reaches this has drifted,
    pub enter: f32,
    /// and one whose anchor score falls to this is back.
    pub leave: f32,
}

impl Default for DriftPolicy {
    fn default() -> Self {
        Self { enter: 0.75, leave: 0.45 }
    }
}

/// The goal of a conversation, and how its messages stand to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalDrift {
    goal: String,
    /// Goals before this one.
    former: Vec<String>,
    last: String,
    policy: DriftPolicy,
    state: DriftState,
    /// The last message was far from the goal, yet near the one before it.
    suspicious: bool,
    /// Messages so far.
    seen: u64,
}

/// What an embedder makes of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    background: Background,
    goal: Vec<f32>,
    last: Vec<f32>,
}

impl Vectors {
    /// From the vectors of [`BACKGROUND`], that of the goal, and that of the last message if there was one.
    ///
    /// # Errors
    /// `invalid_vectors` if they can't be the vectors of one embedder.
    pub fn new(background: &[Vec<f32>], goal: Vec<f32>, last: Option<Vec<f32>>) -> Result<Self> {
        let last = last.unwrap_or_else(|| goal.clone());
        let this = Self { background: Background::from_vectors(background)?, last, goal };
        for vector in background.iter().chain([&this.goal, &this.last]) {
            this.check(vector)?;
        }
        Ok(this)
    }

    /// The user has another goal now.
    ///
    /// # Errors
    /// `invalid_vectors` as for any vector.
    pub fn revise(&mut self, goal: Vec<f32>) -> Result<()> {
        self.check(&goal)?;
        self.last.clone_from(&goal);
        self.goal = goal;
        Ok(())
    }

    fn check(&self, vector: &[f32]) -> Result<()> {
        if vector.len() != self.goal.len() {
            return Err(bad_vectors("the embedder gave vectors of several lengths"));
        }
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(bad_vectors("the embedder gave what is no number"));
        }
        Ok(())
    }
}

fn bad_vectors(message: &str) -> Error {
    Error::usage("invalid_vectors", message)
        .hint("an embedder gives one vector of finite numbers for each text, all of one length")
}

/// How near an embedder puts texts that have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    mean: f32,
    deviation: f32,
}

impl Background {
    /// From the vectors of [`BACKGROUND`].
    ///
    /// # Errors
    /// `invalid_vectors` if they are fewer than two, of several lengths, or hold what is no number.
    pub fn from_vectors(vectors: &[Vec<f32>]) -> Result<Self> {
        let length = vectors.first().map_or(0, Vec::len);
        if vectors.len() < 2 || length == 0 {
            return Err(bad_vectors("the embedder gave no vectors"));
        }
        if vectors.iter().any(|vector| vector.len() != length) {
            return Err(bad_vectors("the embedder gave vectors of several lengths"));
        }
        if vectors.iter().flatten().any(|x| !x.is_finite()) {
            return Err(bad_vectors("the embedder gave what is no number"));
        }
        let mut all = Vec::new();
        for (at, one) in vectors.iter().enumerate() {
            all.extend(vectors.iter().skip(at + 1).map(|other| cosine(one, other)));
        }
        let mean = all.iter().sum::<f32>() / all.len() as f32;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / all.len() as f32;
        if mean > 0.999 && variance < 1e-6 {
            return Err(bad_vectors("the embedder puts all texts at the same place"));
        }
        // A toy that puts all strangers at zero has no spread; one has to be assumed.
        Ok(Self { mean, deviation: variance.sqrt().max(0.02) })
    }

    fn drift(self, cosine: f32) -> f32 {
        logistic(SHARPNESS_EMBEDDED * (MIDDLE_EMBEDDED - (cosine - self.mean) / self.deviation))
    }
}

/// The cosine of two vectors; 0 if one is empty, or they differ in length.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    let (mut both, mut left, mut right) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (f64::from(*x), f64::from(*y));
        both += x * y;
        left += x * x;
        right += y * y;
    }
    let length = (left * right).sqrt();
    if length > 0.0 && both.is_finite() { (both / length) as f32 } else { 0.0 }
}

fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

impl GoalDrift {
    /// A conversation that has this goal.
    ///
    /// # Errors
    /// `invalid_thresholds` unless `0 <= leave <= enter <= 1`; `empty_goal` if the goal says nothing.
    pub fn new(goal: &str, policy: DriftPolicy) -> Result<Self> {
        let DriftPolicy { enter, leave } = policy;
        if !(0.0..=1.0).contains(&enter) || !(0.0..=enter).contains(&leave) {
            let message = format!("the thresholds enter={enter} and leave={leave} are not 0 <= leave <= enter <= 1");
            return Err(Error::usage("invalid_thresholds", message).hint("give enter=0.75, leave=0.45, or neither"));
        }
        let goal = checked(goal)?;
        Ok(Self {
            last: goal.clone(),
            goal,
            former: Vec::new(),
            policy,
            state: DriftState::OnGoal,
            suspicious: false,
            seen: 0,
        })
    }

    /// The goal.
    pub fn goal(&self) -> &str {
        &self.goal
    }

    /// Goals that the user gave up, oldest first.
    pub fn former_goals(&self) -> &[String] {
        &self.former
    }

    /// The message before: the goal at first.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// The state.
    pub const fn state(&self) -> DriftState {
        self.state
    }

    /// Messages so far.
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// The user has another goal now. The state begins anew.
    ///
    /// # Errors
    /// `empty_goal` if the goal says nothing.
    pub fn revise(&mut self, goal: &str) -> Result<()> {
        let goal = checked(goal)?;
        self.last.clone_from(&goal);
        self.former.push(std::mem::replace(&mut self.goal, goal));
        if self.former.len() > MOST_GOALS {
            self.former.remove(0);
        }
        self.state = DriftState::OnGoal;
        self.suspicious = false;
        Ok(())
    }

    /// Takes the next message, by its words alone.
    pub fn observe(&mut self, message: &str) -> Drift {
        let sketch = Sketch::of(message);
        let step = far(Sketch::of(&self.last).nearness(&sketch));
        let anchor = far(near_goal(&self.goal, &sketch));
        self.take(message, &sketch, step, anchor)
    }

    /// Takes the next message, by its vector from the embedder that `vectors` is of.
    ///
    /// # Errors
    /// `invalid_vectors` if the vector is of another length, or holds what is no number.
    pub fn observe_vector(&mut self, message: &str, vector: Vec<f32>, vectors: &mut Vectors) -> Result<Drift> {
        vectors.check(&vector)?;
        let far = |other: &[f32]| vectors.background.drift(cosine(&vector, other));
        let (step, anchor) = (far(&vectors.last), far(&vectors.goal));
        let seen = self.take(message, &Sketch::of(message), step, anchor);
        if seen.evidence > TAKEN {
            vectors.last = vector;
        }
        Ok(seen)
    }

    fn take(&mut self, message: &str, sketch: &Sketch, step: f32, anchor: f32) -> Drift {
        let phrases = phrases(message);
        let announced = phrases.iter().map(|phrase| phrase.weight).sum::<f32>().min(0.5);
        let evidence = (sketch.telling / TELLING).min(1.0);
        // What is said to be another subject and looks like one is one; said alone it is a correction.
        let score = |far: f32| evidence * (1.0 - (1.0 - far) * (1.0 - announced));
        let (step, anchor) = (score(step), score(anchor));
        let before = self.state;
        match before {
            DriftState::OnGoal if anchor >= self.policy.enter => {
                // One message that follows from the last may be a detail of the work; two lead away.
                if step >= self.policy.enter || self.suspicious {
                    self.state = DriftState::Drifted;
                }
                self.suspicious = true;
            }
            DriftState::Drifted if anchor <= self.policy.leave && evidence > TAKEN => {
                self.state = DriftState::OnGoal;
                self.suspicious = false;
            }
            // What says nothing changes nothing.
            _ if evidence > TAKEN => self.suspicious = false,
            _ => {}
        }
        let shared = Sketch::of(&self.goal).common(sketch);
        if evidence > TAKEN {
            head(message, LONGEST).clone_into(&mut self.last);
        }
        self.seen += 1;
        Drift { step, anchor, state: self.state, changed: self.state != before, phrases, shared, evidence }
    }
}

fn far(nearness: f32) -> f32 {
    logistic(SHARPNESS * (MIDDLE - nearness))
}

/// How near a message is to a goal, or to the part of it that is nearest.
fn near_goal(goal: &str, message: &Sketch) -> f32 {
    let whole = Sketch::of(goal).nearness(message);
    let reading = Reading::of(goal, Side::Head);
    if reading.sentences.len() < 2 {
        return whole;
    }
    let parts = reading.sentences.iter().filter_map(|sentence| goal.get(sentence.bytes.clone()));
    let parts = parts.map(Sketch::of).filter(|part| part.telling > 1.0).take(MOST_PARTS);
    parts.map(|part| part.nearness(message)).fold(whole, f32::max)
}

fn checked(goal: &str) -> Result<String> {
    if goal.trim().is_empty() {
        return Err(Error::usage("empty_goal", "the goal is empty").hint("give what the user wants, in words"));
    }
    Ok(head(goal, LONGEST).to_owned())
}

static PHRASES: LazyLock<Phrases<f32>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            0.4,
            "on second thought|change of plans|change of plan|new plan|forget that|forget it|forget about that|scratch that|never mind|\
             nevermind|different topic|new topic|another topic|change the subject|change of subject|new task|different task|\
             something completely different|something else entirely|unrelated question|completely unrelated|switching gears|\
             switch gears|let us switch|let us change|let us move on|moving on|start over|drop that|leave that for now|\
             put that aside|different question|another thing entirely|let us forget|i changed my mind|i have changed my mind|\
             changing the subject|off topic|totally different|do something else|new goal|let us do something else",
        ),
        (
            0.2,
            "actually|instead|rather|by the way|btw|unrelated|separately|in other news|while we are at it|while you are at it|\
             one more thing|before that|oh also|wait",
        ),
    ])
});

/// Phrases that announce a change of course, where they open a clause or end a sentence.
fn phrases(message: &str) -> Vec<DriftPhrase> {
    let reading = Reading::of(message, Side::Head);
    let mut found = Vec::new();
    for sentence in &reading.sentences {
        let tokens = reading.words(sentence);
        let mut at = 0;
        while at < tokens.len() && found.len() < 16 {
            let Some((weight, length)) = PHRASES.at(tokens, at) else {
                at += 1;
                continue;
            };
            let opens = at == 0
                || tokens.get(at).is_some_and(|token| token.after_mark)
                || tokens.get(at - 1).is_some_and(|token| {
                    matches!(
                        token.word.as_str(),
                        "and" | "but" | "so" | "ok" | "okay" | "no" | "oh" | "hmm" | "well" | "yes" | "wait"
                    )
                });
            let follows = tokens.get(at + length).map_or("", |token| token.word.as_str());
            let ends = at + length == tokens.len();
            // "instead of", "rather than", "wait for": words of an ordinary sentence.
            let plain = matches!(follows, "of" | "than" | "for" | "until" | "till" | "to");
            if (weight > 0.3 || opens || ends) && !plain {
                let start = tokens.get(at).map_or(0, |token| token.start);
                let end = tokens.get(at + length - 1).map_or(start, |token| token.end);
                found.push(DriftPhrase { words: start..end, weight });
            }
            at += length;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(goal: &str) -> GoalDrift {
        GoalDrift::new(goal, DriftPolicy::default()).unwrap()
    }

    #[test]
    fn d39_x24_a_conversation_leaves_its_goal_and_comes_back() {
        let mut drift = drift("Refactor the authentication module of our web app to use JWT tokens");
        for message in
            ["Use RS256 to sign the tokens", "yes", "add tests for the login with an expired token", "ok go on"]
        {
            let seen = drift.observe(message);
            assert!(!seen.changed && seen.state == DriftState::OnGoal, "{message} {seen:?}");
        }
        let seen = drift.observe("What should I cook for dinner tonight with chicken and rice?");
        assert!(seen.changed && seen.state == DriftState::Drifted, "{seen:?}");
        assert!(seen.step > 0.7 && seen.anchor > 0.7);
        let seen = drift.observe("and a dessert with strawberries?");
        assert!(!seen.changed && seen.state == DriftState::Drifted, "{seen:?}");
        let seen = drift.observe("Back to the authentication module: are the JWT tokens validated?");
        assert!(seen.changed && seen.state == DriftState::OnGoal, "{seen:?}");
        assert!(drift.goal().starts_with("Refactor"));
    }

    #[test]
    fn x24_only_the_user_revises_the_goal() {
        let mut drift = drift("Plan a trip to Lisbon");
        drift.observe("Write a haiku about databases");
        assert_eq!(drift.goal(), "Plan a trip to Lisbon");
        drift.revise("Write poems about databases").unwrap();
        assert_eq!(drift.state(), DriftState::OnGoal);
        assert_eq!(drift.former_goals(), ["Plan a trip to Lisbon"]);
        assert!(!drift.observe("another poem about a database index").changed);
        assert!(drift.revise(" \n").is_err());
        assert!(GoalDrift::new("", DriftPolicy::default()).is_err());
        assert!(GoalDrift::new("x", DriftPolicy { enter: 0.3, leave: 0.5 }).is_err());
        assert!(GoalDrift::new("x", DriftPolicy { enter: f32::NAN, leave: 0.5 }).is_err());
    }

    #[test]
    fn d39_phrases_count_as_phrases() {
        let found = |text: &str| phrases(text).iter().map(|p| text[p.words.clone()].to_owned()).collect::<Vec<_>>();
        assert_eq!(found("Actually, on second thought, use Go"), ["Actually", "on second thought"]);
        assert_eq!(found("use tabs instead"), ["instead"]);
        assert!(found("use tabs instead of spaces").is_empty());
        assert!(found("what does this actually do").is_empty());
        assert!(found("factually, steady").is_empty());
    }

    #[test]
    fn x22_an_embedder_is_measured_against_its_own_background() {
        let vectors: Vec<Vec<f32>> =
            (0..12).map(|n| (0..12).map(|m| if n == m { 1.0 } else { 0.3 }).collect()).collect();
        let background = Background::from_vectors(&vectors).unwrap();
        assert!(background.drift(background.mean) > 0.9);
        assert!(background.drift(1.0) < 0.01);
        assert!(Background::from_vectors(&[]).is_err());
        assert!(Background::from_vectors(&[vec![1.0], vec![1.0, 2.0]]).is_err());
        assert!(Background::from_vectors(&[vec![f32::NAN], vec![1.0]]).is_err());
    }

    #[test]
    fn a_saved_conversation_goes_on() {
        let mut drift = drift("Plan a trip to Lisbon");
        drift.observe("which museums are open on Monday?");
        let text = serde_json::to_string(&drift).unwrap();
        let mut again: GoalDrift = serde_json::from_str(&text).unwrap();
        assert_eq!(again.observe("hotels near the river"), drift.observe("hotels near the river"));
    }

    proptest::proptest! {
        #[test]
        fn d39_no_text_breaks_it(goal in "\\PC{1,40}x", message in "(\\PC|actually |instead|\\.|\n|我|é){0,40}") {
            let mut drift = drift(&goal);
            let seen = drift.observe(&message);
            proptest::prop_assert!((0.0..=1.0).contains(&seen.step) && (0.0..=1.0).contains(&seen.anchor));
        }
    }
}
