//! The words that signals are made of: whole words, or stems of them; never parts of words.

use std::{collections::HashMap, sync::LazyLock};

use loopwright_lexicon::reading::{Phrases, Token, Words};

/// What kind of act a verb asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Changes code by its very meaning: refactor, debug.
    Code,
    /// Changes something: code, if the object is.
    Change,
    /// Looks for something where it is not known.
    Explore,
    /// Gathers knowledge.
    Research,
    /// Destroys.
    Destroy,
    /// Takes something away: destroys, if it is data.
    Remove,
    /// Plans.
    Plan,
    /// Reaches others or can't be called back: send, pay, deploy.
    Outward,
    /// Anything else.
    Other,
}

/// Verbs, in all their plain forms, as they open a request.
pub(super) static ACTS: LazyLock<Phrases<Act>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            Act::Code,
            "refactor|debug|implement|reimplement|patch|hotfix|lint|optimize|optimise|port|parallelize|vectorize|memoize|monkeypatch|\
             deduplicate|modularize|typecheck|dockerize|containerize|unit test|program|code|code up|rebase|cherry-pick|bisect|\
             transpile|backport|profile|instrument|inline|hardcode|deprecate|fix|stub out|mock|mock out|bump|scaffold|annotate",
        ),
        (
            Act::Change,
            "add|write|create|build|make|change|update|convert|edit|modify|rename|rewrite|replace|extend|improve|adjust|correct|extract|\
             upgrade|downgrade|configure|set up|setup|integrate|generate|move|merge|split|connect|wire|wire up|hook up|simplify|\
             enable|disable|clean up|tidy|tidy up|restructure|reorganize|reorganise|migrate|translate|redesign|support|handle|\
             document|cover|validate|swap|switch|introduce|develop|finish|complete|resolve|address|solve|revert|roll back|rollback|restore|\
             speed up|format|reformat|sort|install|expose|wrap|allow|prevent|ensure|turn|put|insert|append|\
             increase|decrease|reduce|raise|lower|bring|apply|set|tweak|repair|mend|recover|undo|redo|rework|shorten|expand",
        ),
        (
            Act::Explore,
            "explore|find|search|search for|look for|look at|look into|look through|look around|investigate|locate|trace|map|map out|\
             walk through|walk me through|inspect|browse|scan|examine|figure out|discover|dig into|dig through|grep|track down|see where|\
             see how|see which|see what|identify|go through|check where|check how|check which|understand|understand how|familiarize yourself|\
             get familiar|get an overview|give me an overview|give me a tour|diagnose|hunt down|poke around|read through|learn how|scour|\
             work out|pinpoint|uncover|survey the code|survey the codebase|audit|have a look|take a look|study the code|study the codebase",
        ),
        (
            Act::Research,
            "research|compare|survey|gather|collect|study|find out|look up|evaluate|analyze|analyse|investigate the market|benchmark|\
             review the literature|do some research|read up on|contrast|assess|fact-check|compile|do a literature review|google|\
             search the web|search online|search the internet|collate|weigh up",
        ),
        (
            Act::Destroy,
            "delete|drop|purge|wipe|erase|rm|destroy|truncate|nuke|obliterate|shred|decommission|deprovision|tear down|get rid of|\
             overwrite|terminate|force-push|force push|discard|unlink|rmdir|trash|kill|hard reset|wipe out|blow away|throw away|\
             format the disk|format the drive|format my|clear out|bin|scrap",
        ),
        (
            Act::Remove,
            "remove|clear|empty|reset|uninstall|prune|revoke|clean out|clean|strip|cancel|close|archive|eliminate|shut down|drain",
        ),
        (
            Act::Plan,
            "plan|plan out|design|architect|outline|propose|break down|draft a plan|draft a roadmap|create a plan|make a plan|write a plan|\
             come up with a plan|come up with a strategy|make a roadmap|create a roadmap|write a design doc|draft a design|\
             develop a strategy|prepare a plan|map out a plan|sketch out|strategize|organize|organise|coordinate|prioritize|lay out a plan|\
             schedule a migration|write a proposal|prepare a roadmap|draft a strategy|write up a plan|put together a plan",
        ),
        (
            Act::Outward,
            "deploy|send|email|publish|release|pay|buy|purchase|order|transfer|post|tweet|submit|push|book|reserve|ship|refund|wire money|\
             roll out|promote|announce|notify|message|text|call|invite|file|share|upload|execute|launch|provision",
        ),
        (
            Act::Other,
            "explain|tell|tell me|show|show me|list|give|give me|run|test|check|verify|read|open|summarize|summarise|calculate|compute|count|\
             draw|draft|describe|define|suggest|recommend|help|help me|start|stop|restart|review|convert|play|remind|schedule|set a timer|\
             measure|print|return|download|fetch|get|grab|pull|keep|use|try|repeat|continue|proceed|answer|say|name|pick|choose|\
             solve|proofread|rephrase|paraphrase|brainstorm|proof|back up|backup|save|export|import|copy|commit|monitor|watch|log|\
             estimate|predict|plot|visualize|label|classify|rank|rate|confirm|parse|load|clone|fork|tag|teach|quiz|recap|outline the|\
             let me know|report|report back|reply|respond|lint the|double-check|sum up|compile the|do|benchmark the|turn on|turn off|stash|checkout|check out|sync|wait|rerun|re-run|retry|crop|resize|encrypt|decrypt|sign|render|convince|compose|imagine|pretend|act as|simulate|look up the|find me|find the nearest|find a recipe|find a restaurant|find a hotel|mark",
        ),
    ])
});

/// Things that code is made of and lives in, as stems.
const CODE: &str = "algorithm api app applic architectur async auth authent author backend bug build button cach callback ci class cli \
    client code codebas commit compil compon config configur constructor constant controller cpu crash css cron daemon databas db debug \
    decor depend deploy dockerfil docker docstr dto endpoint enum except field fixtur flag framework frontend function git gui handler hook html http \
    import index infra integr interfac javascript json jwt kubernet latenc lambda leak librari lint linter log logger login loop macro \
    makefil memori method microservic middlewar migrat mock modal model modul mutex namespac null oauth orm packag pagin pars \
    parser param paramet patch pipelin plugin pointer pr python race react refactor regex regexp regress releas repo repositori rest \
    rout router rust schema script sdk segfault serial server servic session singleton sql sqlite stack stacktrac struct stylesheet \
    subclass submodul subprocess syntax test testsuit thread timeout token traceback trait type typescript typo ui unittest url util valid \
    variabl vector webhook websocket widget worker xml yaml workflow signup navbar dropdown checkbox tooltip retri throttl concurr queri \
    tabl column row java go golang csharp kotlin swift php rubi bash shell terraform helm nginx postgr redi kafka graphql grpc protobuf dashboard";

/// Those that are no sign of code by themselves: they have everyday meanings.
const WEAK_CODE: &str = "app applic author build button class client code column field flag function go import index interfac java leak librari \
    loop memori method mock model packag patch pipelin plugin pointer pr race releas rest row script server servic session stack \
    tabl test thread token trait type valid variabl vector worker workflow swift rubi shell helm crash log rout url note schema login \
    compon constant config configur depend architectur deploy dashboard index route hook";

/// What is lost for good when it goes, as stems.
const DATA: &str = "account archiv backup bill branch bucket cach calendar cluster collect contact content custom data databas dataset db \
    direct directori disc disk document drive email entri event environ everyth file folder histori home imag index inbox instanc job key \
    log mailbox mail messag namespac node note order partit password photo pictur pod project queue record repo repositori row schema server \
    session snapshot stack storag subscript tabl tag tenant ticket user video vm volum workspac machin system product prod member playlist";

/// Everything: a scope rather than a target.
pub(super) static ALL_OF_IT: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "everything|all|anything|lot|whole|it|them|that|this|those|these|stuff|things|thing|one|ones|some|something",
    )
});

fn set(list: &'static str) -> Vec<&'static str> {
    let mut all: Vec<&'static str> = list.split_whitespace().collect();
    all.sort_unstable();
    all
}

static STEMS: LazyLock<(Vec<&'static str>, Vec<&'static str>, Vec<&'static str>)> =
    LazyLock::new(|| (set(CODE), set(WEAK_CODE), set(DATA)));

/// Whether a stem names something of code, and whether it can mean nothing else.
pub(super) fn of_code(stem: &str) -> Option<bool> {
    let (code, weak, _) = &*STEMS;
    let is_weak = weak.binary_search(&stem).is_ok();
    (is_weak || code.binary_search(&stem).is_ok()).then_some(!is_weak)
}

pub(super) fn of_data(stem: &str) -> bool {
    STEMS.2.binary_search(&stem).is_ok()
}

/// Single marks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Steps follow each other.
    Ordered,
    /// Parts stand side by side.
    Independent,
    /// Much at once.
    Wide,
    /// It says too little.
    Vague,
    /// Nothing to do but to answer in kind.
    Talk,
    /// Can't be called back.
    Irreversible,
    /// Opens a request in the form of a question.
    Polite,
    /// About a strange place.
    Exploring,
    /// A plan is the product.
    Planning,
    /// It should not be done.
    Forbids,
}

pub(super) static MARKS: LazyLock<Phrases<Mark>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            Mark::Ordered,
            "then|and then|after that|afterwards|after which|once that is done|once done|once it is done|next|finally|lastly|step by step|\
             followed by|before you|before doing|and after|when that is done|when you are done|when done|once finished|first of all",
        ),
        (
            Mark::Independent,
            "and also|as well as|in parallel|simultaneously|at the same time|independently|separately|concurrently|meanwhile|\
             on top of that|additionally|in addition|plus|besides that|side by side|at once each|each of these|each of the following|\
             also|another thing|unrelated",
        ),
        (
            Mark::Wide,
            "entire|whole|across|throughout|end to end|end-to-end|from scratch|codebase|everywhere|architecture|all of the|every|\
             comprehensive|full|thoroughly|large|complex|all services|all our|all the|multiple|several|system-wide|monorepo|legacy",
        ),
        (
            Mark::Vague,
            "stuff|things|thing|something|somehow|whatever|better|nicer|some changes|some improvements|the usual|you know|kind of|sort of|\
             a bit|or so|or something|anything|whatever you think|do your thing|work your magic|make it good|as needed|asap|the rest|etc",
        ),
        (
            Mark::Talk,
            "hi|hello|hey|thanks|thank you|thx|ok|okay|great|good morning|good evening|good afternoon|good night|bye|goodbye|yes|no|\
             yep|nope|sure|cool|nice|perfect|awesome|lgtm|sounds good|looks good|go ahead|go on|continue|proceed|please continue|\
             well done|good job|got it|never mind|sorry|yeah|nah|cheers|keep going|carry on|hooray|lol|haha|good|right|exactly|\
             i see|makes sense|agreed|do it|please do|yes please|no thanks|wow|amazing|of course|correct|fine|alright|y|n|resume",
        ),
        (
            Mark::Irreversible,
            "production|prod|live|live site|main branch|master branch|permanently|forever|irreversibly|customers|force|hard reset|\
             no backup|without a backup|without backup|for good|all users|all customers|everyone|the public|payment|payments|money|\
             irreversible|unrecoverable",
        ),
        (
            Mark::Polite,
            "can you|could you|would you|will you|can we|could we|please|would you mind|i need you to|i want you to|i would like you to|\
             i want to|i need to|i would like to|we need to|we should|we have to|we want to|let us|help me|help me to|help us|\
             go ahead and|you should|you need to|you must|your task is to|your job is to|i am trying to|we are trying to|\
             i have to|make sure to|make sure you|be sure to|try to|feel free to|the task is to|the goal is to|you are to|kindly|just|\
             now|next|also|and|then|first|firstly|second|secondly|third|thirdly|finally|lastly|but|so|or|ok|okay|hi|hello|hey|pls|plz|instead|to|after that|afterwards|in parallel|simultaneously|meanwhile|additionally|separately|at the same time|can i have you|i would like|start by|begin by|quickly|carefully|safely|permanently|completely|immediately|and also|plus|not|automatically|properly|i would love you to|go|could u|can u|would u|should|must|in addition|as well as|again|simply|thoroughly|alternatively|either|do|already|independently|concurrently|simultaneously|separately|meanwhile|additionally",
        ),
        (
            Mark::Exploring,
            "how it works|how this works|how everything works|where it is|what it does|the codebase|this codebase|this repo|this repository|the repo|the repository|\
             this project|the project|the code|the source|our code|overview|root cause|where we|where the|which files|which modules|every place|all places|all usages|all uses|all references|all callers|everywhere",
        ),
        (
            Mark::Planning,
            "plan|roadmap|strategy|milestones|design doc|design document|proposal|timeline|rfc|architecture proposal|project plan|\
             migration plan|rollout plan|action plan|game plan|blueprint",
        ),
        (Mark::Forbids, "do not|never|without|avoid|don't|not to|rather than|instead of|no need to"),
    ])
});

/// Whether one of `list`, separated by `|`, is the word.
pub(super) fn among(list: &str, token: &Token) -> bool {
    list.split('|').any(|word| word == token.word)
}

/// Words that refer to something said elsewhere.
pub(super) static PRONOUNS: LazyLock<Words> =
    LazyLock::new(|| Words::new("it|them|that|this|those|these|they|him|her|one|ones"));
/// Things that stand before everybody's eyes: "this repo" needs no further name.
pub(super) static AT_HAND: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "repo|repository|project|codebase|directory|folder|workspace|machine|session|chat|conversation|week|year|month|morning|\
    evening|afternoon|day|time|way|computer|app|application|system|branch|weekend|summer|winter|spring|package|company|country|\
    team|site|website|document|library|city|room|house|service|kind|case|point|context|crate|module|server|cluster|season|text|night",
    )
});
/// Nouns that name nothing by themselves: "the issue".
pub(super) static NAMELESS: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "thing|things|stuff|issue|problem|one|ones|other|others|rest|same|task|job|it|matter|error|part|bit|item|items|mess|situation",
    )
});
/// Nouns of which there are many: without a name, a destructive act has no target.
pub(super) static MANY: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "file|files|folder|directory|table|database|branch|record|records|row|rows|account|user|users|server|instance|bucket|document|\
    documents|entry|entries|data|container|cluster|volume|email|emails|message|messages|object|objects|repo|key|keys",
    )
});

/// Words that ask.
pub(super) static ASKING: LazyLock<Words> = LazyLock::new(|| {
    Words::new(
        "what|why|how|when|where|who|whose|which|whom|is|are|was|were|does|do|did|can|could|will|would|should|has|have|had|am|may|might|shall|isn't",
    )
});

/// The stem of a word, by the rules of retrieval.
pub(super) fn stem_of<'a>(word: &str, known: &'a mut HashMap<String, String>) -> &'a str {
    known
        .entry(word.to_owned())
        .or_insert_with(|| loopwright_lexicon::words::terms(word).into_iter().next().unwrap_or_else(|| word.to_owned()))
}
