//! The words by which a sentence denies something, doubts it, or lets it hang on something else.
//!
//! All are in lower case and without apostrophes. They are those of English; of other languages only what negates.

/// Negations of what is done or is; those of other languages stand behind the line.
pub(super) const NOT: [&str; 38] = [
    "not",
    "never",
    "cannot",
    "cant",
    "dont",
    "doesnt",
    "didnt",
    "isnt",
    "arent",
    "wasnt",
    "werent",
    "wont",
    "wouldnt",
    "shouldnt",
    "mustnt",
    "hasnt",
    "havent",
    "hadnt",
    "couldnt",
    "neednt",
    "aint",
    "shant",
    "mightnt",
    "darent",
    //
    "nicht",
    "nie",
    "niemals",
    "nunca",
    "jamais",
    "não",
    "nao",
    "niet",
    "nooit",
    "inte",
    "ikke",
    "non",
    "не",
    "никогда",
];
/// Negations of a thing.
pub(super) const NONE: [&str; 13] = [
    "no", "none", "neither", "nor", "nobody", "nothing", "nowhere", "kein", "keine", "keinen", "keiner", "ningún",
    "aucun",
];
/// With `to` behind them they deny what follows.
pub(super) const FAILS: [&str; 24] = [
    "fail",
    "fails",
    "failed",
    "failing",
    "refuse",
    "refuses",
    "refused",
    "refusing",
    "decline",
    "declines",
    "declined",
    "declining",
    "neglect",
    "neglects",
    "neglected",
    "unable",
    "impossible",
    "forgot",
    "forgets",
    "ceased",
    "ceases",
    "cease",
    "unwilling",
    "powerless",
];
/// They deny the whole statement behind them.
pub(super) const DENIES: [&str; 17] = [
    "deny",
    "denies",
    "denied",
    "denying",
    "dispute",
    "disputes",
    "disputed",
    "refute",
    "refutes",
    "refuted",
    "false",
    "untrue",
    "incorrect",
    "wrong",
    "myth",
    "disproved",
    "disproves",
];
/// Behind `not`, and before `that`, they make one of these.
pub(super) const TRUE: [&str; 6] = ["true", "case", "fact", "correct", "right", "believed"];
/// With one of these a sentence says nothing for sure.
pub(super) const DOUBTS: [&str; 36] = [
    "may",
    "might",
    "sometimes",
    "often",
    "usually",
    "rarely",
    "seldom",
    "possibly",
    "perhaps",
    "maybe",
    "occasionally",
    "typically",
    "generally",
    "mostly",
    "partly",
    "partially",
    "almost",
    "nearly",
    "unless",
    "except",
    "otherwise",
    "supposedly",
    "allegedly",
    "reportedly",
    "only",
    "hardly",
    "barely",
    "scarcely",
    "solely",
    "exclusively",
    "apart",
    "besides",
    "mainly",
    "normally",
    "exception",
    "excluding",
];
/// Behind a negation they make a bound, a part or an addition of it.
pub(super) const SOFTENED: [&str; 24] = [
    "only",
    "just",
    "always",
    "all",
    "every",
    "everyone",
    "everybody",
    "everything",
    "necessarily",
    "merely",
    "simply",
    "quite",
    "entirely",
    "exactly",
    "both",
    "later",
    "more",
    "less",
    "fewer",
    "earlier",
    "sooner",
    "doubt",
    "matter",
    "wonder",
];
/// Anywhere behind a negation they turn it into a bound.
pub(super) const BOUNDS: [&str; 8] = ["until", "till", "before", "than", "because", "since", "sooner", "least"];
/// A statement ends before these.
pub(super) const HARD: [&str; 11] =
    ["but", "because", "although", "though", "however", "whereas", "while", "so", "yet", "nor", "sondern"];
/// What a statement is about does not reach over these.
pub(super) const SOFT: [&str; 13] =
    ["and", "or", "that", "which", "who", "where", "when", "if", "then", "whether", "und", "oder", "y"];
/// What follows these, up to a comma, is a condition.
pub(super) const CONDITIONS: [&str; 7] = ["if", "whether", "unless", "when", "whenever", "in case", "suppose"];
/// What must be, and not what is.
pub(super) const DUTIES: [&str; 8] = ["must", "should", "ought", "shall", "mustnt", "shouldnt", "neednt", "please"];
pub(super) const PRONOUNS: [&str; 16] = [
    "it", "this", "that", "these", "those", "they", "he", "she", "we", "i", "you", "there", "its", "their", "his",
    "her",
];
/// Behind `that`, `which` or `who` they begin a clause that says which things are meant.
pub(super) const VERBS: [&str; 18] = [
    "is", "are", "was", "were", "be", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would",
    "not", "never", "cannot",
];
/// Those of [`FAILS`] that say what is not done, and not what cannot be.
pub(super) const FAILS_FORMS: [&str; 5] = ["fail", "refus", "declin", "neglect", "forg"];
/// Verbs that only carry a negation: `did not go` is `went` turned around.
pub(super) const HELPERS: [&str; 3] = ["do", "does", "did"];
/// Words that come and go with a negation: `has a key`, `has no key`, `does not have any key`.
pub(super) const ANY: [&str; 14] =
    ["a", "an", "the", "any", "some", "ever", "anymore", "either", "all", "every", "each", "even", "still", "already"];
/// Words of which one turns around a sentence that is otherwise the same, besides those of `contrast`.
pub(super) const OPPOSITES: [(&[&str], &[&str]); 60] = [
    (&["with"], &["without"]),
    (&["big", "large", "huge"], &["little", "small", "tiny"]),
    (&["biggest", "largest"], &["smallest"]),
    (&["high", "tall"], &["low", "short"]),
    (&["highest", "tallest"], &["lowest", "shortest"]),
    (&["long"], &["short"]),
    (&["longest"], &["shortest"]),
    (&["wide", "broad"], &["narrow"]),
    (&["thick"], &["thin"]),
    (&["deep"], &["shallow"]),
    (&["heavy", "heavier"], &["light", "lighter"]),
    (&["strong"], &["weak"]),
    (&["stronger"], &["weaker"]),
    (&["strongly"], &["weakly"]),
    (&["rich", "wealthy"], &["poor"]),
    (&["fast", "quick"], &["slow"]),
    (&["quickly", "rapidly"], &["slowly"]),
    (&["hard", "difficult"], &["easy", "simple"]),
    (&["harder"], &["easier"]),
    (&["happy", "glad"], &["sad", "unhappy"]),
    (&["good"], &["bad", "evil"]),
    (&["better"], &["worse"]),
    (&["best"], &["worst"]),
    (&["most"], &["least", "fewest"]),
    (&["many", "much"], &["few", "little"]),
    (&["old"], &["new", "young"]),
    (&["oldest"], &["newest", "youngest"]),
    (&["first"], &["last"]),
    (&["maximum"], &["minimum"]),
    (&["hotter", "warmer"], &["colder", "cooler"]),
    (&["warm"], &["cold", "cool"]),
    (&["dark"], &["bright"]),
    (&["clean"], &["dirty"]),
    (&["loud"], &["quiet"]),
    (&["positive"], &["negative"]),
    (&["true"], &["untrue"]),
    (&["possible"], &["impossible"]),
    (&["always"], &["rarely", "seldom"]),
    (&["often", "frequently"], &["rarely", "seldom"]),
    (&["everyone", "everybody"], &["nobody"]),
    (&["everything"], &["nothing"]),
    (&["started", "began", "begun"], &["stopped", "ended", "ceased"]),
    (&["starts", "begins", "start", "begin"], &["stops", "ends", "stop", "end"]),
    (&["opened", "opens"], &["closed", "closes", "shut"]),
    (&["loved", "liked", "loves", "likes", "love", "like"], &["hated", "disliked", "hates", "dislikes", "hate"]),
    (&["remembered", "remembers", "remember"], &["forgot", "forgets", "forget"]),
    (&["arrived", "arrives"], &["left", "departed", "leaves", "departs"]),
    (&["found"], &["lost"]),
    (&["increasing", "rising", "growing"], &["decreasing", "falling", "shrinking"]),
    (&["accelerates", "accelerated"], &["slows", "slowed"]),
    (&["strengthens", "strengthened"], &["weakens", "weakened"]),
    (&["caused", "causes"], &["prevented", "prevents"]),
    (&["supports", "supported"], &["opposes", "opposed"]),
    (&["added", "adds"], &["removed", "removes"]),
    (&["connected", "connects"], &["disconnected", "disconnects"]),
    (&["success"], &["failure"]),
    (&["north", "northern"], &["south", "southern"]),
    (&["east", "eastern"], &["west", "western"]),
    (&["inside", "within"], &["outside"]),
    (&["upper", "top"], &["lower", "bottom"]),
];
