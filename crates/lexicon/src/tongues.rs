//! Questions in other languages than English: the words of theirs that only make a sentence a question.
//!
//! A language is known by its question words; then its articles, prepositions and auxiliaries are as empty as `the` and
//! `of`. Words that look like English ones (`die`, `war`) are left alone in an English question.

use super::words::is_stop_word;

/// A language's question words, and other words without a meaning of their own.
type Tongue = (&'static [&'static str], &'static str);

const TONGUES: [Tongue; 11] = [
    (
        &[
            "wer", "wen", "wem", "wessen", "wann", "wo", "warum", "wie", "wieso", "weshalb", "welche", "welcher",
            "welches", "welchem", "welchen", "woher", "wohin", "womit", "wodurch", "wofür", "woran", "worin",
            "wieviel", "wieviele", "worauf", "woraus",
        ],
        "was der die das den dem des ein eine einen einem einer eines und oder nicht kein keine ist sind war waren wird \
         werden wurde wurden worden hat haben hatte hatten kann können konnte konnten muss müssen soll sollte darf will \
         ich du er sie es wir ihr man sich mit von vom zu zum zur bei beim in im an am auf aus nach vor für über unter \
         durch gegen ohne um als auch nur noch schon so wenn dass bis seit während zwischen viel viele denn sein seine \
         seiner ihre ihrer ihren diese dieser dieses diesem diesen gibt geht heißt macht",
    ),
    (
        &[
            "qué", "quién", "quiénes", "cuándo", "dónde", "cómo", "cuál", "cuáles", "cuánto", "cuánta", "cuántos",
            "cuántas", "adónde",
        ],
        "por el la los las lo un una unos unas de del al a ante con en para sin sobre entre hasta desde y o u ni que se su \
         sus le les me te nos es son era eran fue fueron ser estar está están estaba ha han había haber hay tiene tienen \
         tenía puede pueden debe deben como más muy no sí ya también cuando donde si este esta estos estas ese esa esos \
         esas cada algún alguna qué según durante hace hizo",
    ),
    (
        &[
            "qui", "quoi", "quand", "où", "pourquoi", "comment", "combien", "quel", "quelle", "quels", "quelles",
            "lequel", "laquelle",
        ],
        "le la les un une des du de d l à au aux en dans par pour avec sans sur sous entre vers chez et ou ni que qu se sa \
         son ses leur leurs il elle ils elles on nous vous je tu est sont était étaient fut être été a ont avait avaient \
         avoir peut peuvent doit doivent ne pas plus très ce cet cette ces comme si y fait font est-ce",
    ),
    (
        &["chi", "cosa", "quando", "dove", "perché", "quale", "quali", "qual", "quanto", "quanta", "quanti", "quante"],
        "che come il lo la i gli le un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla \
         in nel nella nei nelle con su sul sulla per tra fra e o non si è sono era erano fu furono essere stato stata ha \
         hanno aveva avere può possono deve devono suo sua suoi loro più molto questo questa questi anche c'è viene",
    ),
    (
        &["quem", "quando", "onde", "porquê", "qual", "quais", "quanto", "quanta", "quantos", "quantas", "quê"],
        "que como por o a os as um uma uns umas de do da dos das em no na nos nas com para sem sobre entre até desde e ou \
         não se seu sua seus suas lhe é são era eram foi foram ser estar está estão há tem têm tinha pode podem deve devem \
         mais muito também este esta esse essa isso ao à aos pela pelo",
    ),
    (
        &[
            "wie", "wat", "waar", "wanneer", "waarom", "hoe", "welke", "welk", "hoeveel", "waarmee", "waardoor",
            "waarin",
        ],
        "de het een en of niet geen is zijn was waren wordt worden werd werden heeft hebben had hadden kan kunnen kon moet \
         moeten zal zou ik je hij zij ze we men zich met van te tot bij in op aan uit naar voor over onder door tegen \
         zonder om als ook nog al er dat die dit deze tussen tijdens heet",
    ),
    (
        &["cine", "ce", "când", "unde", "cum", "care", "cât", "câți", "câte", "câtă", "cui"],
        "de un o unui unei al a ai ale cu la în din pe pentru fără prin despre și sau nu se este e sunt era erau fost fi are \
         au avea poate pot trebuie mai că lui lor sa său să acest această dintre după",
    ),
    (
        &[
            "кто",
            "что",
            "когда",
            "где",
            "почему",
            "как",
            "какой",
            "какая",
            "какое",
            "какие",
            "каким",
            "сколько",
            "чем",
            "куда",
            "откуда",
            "какую",
            "каком",
            "каких",
            "чего",
            "кого",
            "кем",
        ],
        "в во на по с со из к ко от до для о об у за при над под и или не ни был была было были есть это этот эта эти его её \
         их он она они мы вы я бы же ли то так все всех является между через после",
    ),
    (
        &[
            "kim", "ne", "nerede", "nasıl", "neden", "niçin", "hangi", "kaç", "nereye", "nereden", "kimin", "nedir",
            "kimdir",
        ],
        "bir bu şu o ve veya ile için de da mi mı mu mü değil olan olarak olduğu oldu var yok daha çok en kadar gibi göre \
         sonra önce zaman",
    ),
    (
        &["vem", "vad", "när", "var", "varför", "hur", "vilken", "vilket", "vilka"],
        "en ett den det de och eller inte är var blev har hade kan kunde ska skulle med av till från i på för om under över \
         som att sig sin sitt sina många mycket heter",
    ),
    (
        &[
            "kto", "co", "kiedy", "gdzie", "dlaczego", "jak", "jaki", "jaka", "jakie", "który", "która", "które",
            "ile", "czym",
        ],
        "w we na z ze do od po dla o u za przy nad pod i lub nie jest są był była było były się jego jej ich to ten ta te \
         może mogą czy przez między",
    ),
];

/// Which words of a question, in lower case and as they are written, are empty in its language.
pub fn empty_words(words: &[String]) -> Vec<bool> {
    let of = |tongue: &Tongue| words.iter().any(|word| tongue.0.contains(&word.as_str()));
    let found: Vec<&Tongue> = TONGUES.iter().filter(|tongue| of(tongue)).collect();
    // Of languages that share a question word, that whose words they are.
    let known = |tongue: &Tongue, word: &str| {
        tongue.0.contains(&word) || tongue.1.split_ascii_whitespace().any(|other| other == word)
    };
    let count = |tongue: &Tongue| words.iter().filter(|word| known(tongue, word)).count();
    // "How do I write a comment?" is no question in French.
    let english = words.iter().filter(|word| is_stop_word(word)).count();
    let is_asked_in = |tongue: &&Tongue| count(tongue) >= 2.max(english);
    let Some(tongue) = found.into_iter().max_by_key(|tongue| count(tongue)).filter(is_asked_in) else {
        return vec![false; words.len()];
    };
    words.iter().map(|word| known(tongue, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(question: &str) -> Vec<String> {
        let words: Vec<String> = question.split_whitespace().map(str::to_lowercase).collect();
        let empty = empty_words(&words);
        words.into_iter().zip(empty).filter(|(_, empty)| !empty).map(|(word, _)| word).collect()
    }

    #[test]
    fn words_that_only_ask_are_empty_in_each_language() {
        assert_eq!(left("Wie viele Einwohner hat die Stadt"), ["einwohner", "stadt"]);
        assert_eq!(left("Qué es la fotosíntesis"), ["fotosíntesis"]);
        assert_eq!(left("Quand est né Victor Hugo"), ["né", "victor", "hugo"]);
        assert_eq!(left("Где был построен город"), ["построен", "город"]);
        // One word of a language is none.
        assert_eq!(left("Где находится город"), ["где", "находится", "город"]);
        assert_eq!(left("Did many die in the war"), ["did", "many", "die", "in", "the", "war"]);
        assert!(left("How do I write a comment in a template").contains(&"comment".to_owned()));
        assert_eq!(left("What did Wo Hop sell"), ["what", "did", "wo", "hop", "sell"]);
    }
}
