//! Cuts between many pieces at once: 64 bytes of plain text become masks, and a few operations on the masks give every
//! cut among them.
//!
//! It speaks only of ASCII, and only of cuts that nothing outside the 64 bytes can change. Whatever else there is
//! (other scripts, rare combinations) is left to [`super::split`], which says the same one piece at a time.

use super::split::{Pattern, contraction};

/// Bytes of a window.
pub(super) const WINDOW: usize = 64;

/// One bit for each byte of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    /// `A` to `Z`, `a` to `z`.
    pub(super) letter: u64,
    /// `A` to `Z`.
    pub(super) upper: u64,
    /// `0` to `9`.
    pub(super) digit: u64,
    /// The space itself.
    pub(super) space: u64,
    /// The space and `\t` to `\r`.
    pub(super) white: u64,
    /// `\n`, `\r`.
    pub(super) newline: u64,
    /// Bytes beyond ASCII.
    pub(super) high: u64,
    /// `/`
    pub(super) slash: u64,
    /// `'`
    pub(super) quote: u64,
}

/// The cuts in the window, which starts where a piece starts: bit `n` says that a piece ends before byte `n`. Pieces
/// after the last cut are not spoken of. The second number says how far the window was plain; where there is no cut
/// at all, the text is best read one piece at a time up to there.
#[inline(always)]
pub(super) fn cuts(pattern: Pattern, window: &[u8; WINDOW], masks: Masks) -> (u64, usize) {
    let Masks { letter, upper, digit, space, white, newline, high, slash, quote } = masks;
    let o200k = pattern == Pattern::O200k;
    let lower = letter & !upper;
    let other = !(letter | digit | white | high);
    // From here on nothing is believed.
    let mut plain = high.trailing_zeros();

    // Line ends right after symbols belong to the symbols. So does a slash after those: rare, not done here.
    let after_other = newline & (other << 1);
    let carried = newline.wrapping_add(after_other);
    let taken = newline & !carried;
    if o200k {
        plain = plain.min((carried & !newline & slash).trailing_zeros());
    }

    let blank = white & !newline;
    let free = white & !taken;
    let other_start = other & !(other << 1);
    // A sign right before a word belongs to the word, if it stands alone and no space binds it.
    let bound = space << 1;
    let sign = other_start & !(other >> 1) & !bound;
    let word_start = letter & !(letter << 1) & !((blank | sign) << 1);
    let digit_start = digit & !(digit << 1);
    let white_start = free & !(free << 1);
    let white_last = blank & !(white >> 1);
    // Blanks after a line end start anew, unless another line end follows: rare, not done here.
    let indent = blank & (newline << 1);
    let after_indent = blank.wrapping_add(indent) & !blank;
    if after_indent & newline != 0 {
        let first = (after_indent & newline).trailing_zeros();
        // What is wrong is where its blanks begin, which is after the line end before it.
        let before = newline & ((1_u64 << first) - 1);
        plain = plain.min(63 - before.leading_zeros().min(63));
    }

    let mut cuts = word_start | digit_start | other_start & !bound | white_start | white_last | indent;
    if o200k {
        cuts |= upper & (lower << 1);
    }
    // Numbers are cut after every third digit.
    let inside = digit & (digit << 1) & (digit << 2) & (digit << 3);
    let mut thirds = (digit_start << 3) & inside;
    while thirds != 0 {
        cuts |= thirds;
        thirds = (thirds << 3) & inside;
    }

    // Contractions.
    let mut quotes = quote & (letter >> 1);
    quotes &= if o200k { letter << 1 } else { other_start & !bound };
    // Those that are not whole in the window are past what is believed anyway.
    quotes &= (1 << 61) - 1;
    let mut ended = 64;
    while quotes != 0 {
        let at = quotes.trailing_zeros() as usize;
        quotes &= quotes - 1;
        // One to a word: what follows a contraction directly is a new piece.
        if o200k && at == ended {
            continue;
        }
        let length = contraction(window, at);
        if length > 0 {
            ended = at + length;
            if o200k {
                cuts &= !(((1 << length) - 1) << at);
            }
            cuts |= 1 << ended;
        }
    }

    // What stands at the edge may go on: white space that reaches it, and what three more bytes could change.
    let plain = plain as usize;
    if plain < 8 {
        return (0, plain);
    }
    let at_edge = (white << (64 - plain)).leading_ones() as usize;
    let known = (plain - 4).min(plain - at_edge.min(plain));
    cuts &= (2_u64 << known).wrapping_sub(1) & !1;
    (cuts, plain)
}
