//! How a section of calls goes on: with its closer, with a call, or not at all.

use super::{
    super::dialect::{Dialect, Glances, Verdict},
    MOST_SPACE,
};

/// How a section goes on.
pub(in super::super) enum Begins {
    No,
    More,
    /// With its closer, which ends here.
    Over(usize),
    /// With a call, behind white space.
    Call {
        space: usize,
        opener: usize,
    },
}

/// What stands in a section, behind its opener or a call.
pub(in super::super) fn begins(
    dialect: &'static Dialect,
    at: usize,
    input: &[u8],
    last: bool,
    glances: &mut Glances,
) -> Begins {
    let space = glances.space(at, input, MOST_SPACE);
    if space > MOST_SPACE {
        return Begins::No;
    }
    let rest = input.get(space..).unwrap_or_default();
    let mut more = rest.is_empty();
    let closers = dialect.section.map_or(&[][..], |section| section.1).iter().map(|close| (true, *close));
    let openers = dialect.open.iter().filter(|open| !open.is_empty()).map(|open| (false, *open));
    for (closes, text, verdict) in glances.which(at + space, rest, closers.chain(openers)) {
        if verdict == Verdict::More {
            more = true;
        } else if closes {
            return Begins::Over(space + text.len());
        } else {
            let inside = rest.get(text.len()..).unwrap_or_default();
            match dialect.first.holds_at(at + space + text.len(), inside, last, glances) {
                Verdict::Yes => return Begins::Call { space, opener: text.len() },
                Verdict::More => more = true,
                // Models open a call twice now and then.
                Verdict::No => {
                    let between = glances.space(at + space + text.len(), inside, MOST_SPACE);
                    let again = inside.get(between..).filter(|_| between <= MOST_SPACE).unwrap_or_default();
                    let place = at + space + text.len() + between;
                    match glances.which(place, again, std::iter::once(((), text))).first() {
                        Some(((), _, Verdict::Yes)) => {
                            let opener = 2 * text.len() + between;
                            let inside = again.get(text.len()..).unwrap_or_default();
                            match dialect.first.holds_at(place + text.len(), inside, last, glances) {
                                Verdict::Yes => return Begins::Call { space, opener },
                                Verdict::More => more = true,
                                Verdict::No => {}
                            }
                        }
                        Some(_) => more = true,
                        None => {}
                    }
                }
            }
        }
    }
    if dialect.open.is_empty() || dialect.open.contains(&"") {
        match dialect.first.holds_at(at + space, rest, last, glances) {
            Verdict::Yes => return Begins::Call { space, opener: 0 },
            Verdict::More => more = true,
            Verdict::No => {}
        }
    }
    if more && !last { Begins::More } else { Begins::No }
}
