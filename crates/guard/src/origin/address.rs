//! Values that lead somewhere: addresses of mail and of pages, numbers of accounts and telephones.

use super::plain::is_date;

/// Whether a word leads to somebody or somewhere.
pub(super) fn is_address(word: &str) -> bool {
    if is_date(word) {
        return false;
    }
    let mail = word.split_once('@').is_some_and(|(one, other)| !one.is_empty() && !other.is_empty());
    mail || word.contains("://") || word.starts_with("www.") || is_account(word) || host_of(word).is_some()
}

/// Whether an address is no more than a number, as of a bill or an order.
pub(super) fn is_fact(word: &str) -> bool {
    !word.contains('@') && host_of(word).is_none() && !word.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Numbers that name an account or a telephone.
fn is_account(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= 8 && word.bytes().filter(u8::is_ascii_alphabetic).count() <= 10 && !word.contains(['.', ':'])
}

/// The host of an address as it is compared, without its scheme.
pub(super) fn host_of(word: &str) -> Option<&str> {
    let host = word.split(['/', '?', '#']).next()?;
    let host = host.rsplit('@').next()?;
    let host = host.split(':').next()?;
    let (rest, top) = host.rsplit_once('.')?;
    let labels = rest.split('.').all(|label| !label.is_empty());
    let is_top = top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic());
    // A name of a file has a dot as well: an address says more, or is one of the usual tops.
    let told = host.starts_with("www.") || word.contains('/') || word.contains('@') || rest.contains('.');
    (labels && is_top && (told || crate::names::has("flows.tops", top))).then_some(host)
}
