//! What texts are about, in words.

use std::collections::HashSet;

use loopwright_lexicon::words;

/// The words that mark a text among others, for naming what it is about: most telling first.
pub fn topics(texts: &[&str], most: usize) -> Vec<String> {
    use std::collections::BTreeMap;
    let mut seen: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    for text in texts {
        let mut here = HashSet::new();
        for word in words::words(text) {
            let long = word.surface.chars().count() >= 4 && word.surface.chars().any(char::is_alphabetic);
            if !long || !word.surface.chars().all(|c| c.is_alphanumeric() || c == '-') {
                continue;
            }
            let surface = word.surface.to_lowercase();
            let entry = seen.entry(word.whole.clone()).or_insert((0, 0, surface.clone()));
            entry.0 += 1;
            entry.1 += usize::from(here.insert(word.whole));
            if surface.len() < entry.2.len() {
                entry.2 = surface;
            }
        }
    }
    let mut ranked: Vec<(f64, String)> = seen
        .into_values()
        .filter(|(count, _, _)| *count > 1 || texts.len() == 1)
        .map(|(count, holding, surface)| ((count as f64).ln_1p() * (holding as f64).sqrt(), surface))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    ranked.into_iter().take(most).map(|(_, surface)| surface).collect()
}
