//! The last bytes of a string, for a look back at what it may have swallowed. Adding a short piece costs a few
//! instructions, and how it was cut can't be seen in what is kept.

use super::FAR;

/// Room for so many bytes: they are seldom moved.
const ROOM: usize = 4 * FAR;

#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    /// Nothing, or `ROOM` bytes; those up to `end` count.
    bytes: Vec<u8>,
    end: usize,
}

impl Recent {
    pub(super) fn clear(&mut self) {
        self.end = 0;
    }

    /// The last bytes, `FAR` of them if there were so many.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.end.saturating_sub(FAR)..self.end).unwrap_or_default()
    }

    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        let near = text.get(text.len().saturating_sub(FAR)..).unwrap_or_default();
        if self.end + near.len() > self.bytes.len() {
            self.make_room();
        }
        let Some(place) = self.bytes.get_mut(self.end..self.end + near.len()) else { return };
        self.end += near.len();
        // Pieces of some characters, without a call: two words that overlap.
        if let (4..=8, Some(first), Some(last)) = (near.len(), near.first_chunk::<4>(), near.last_chunk::<4>()) {
            if let Some(place) = place.first_chunk_mut::<4>() {
                *place = *first;
            }
            if let Some(place) = place.last_chunk_mut::<4>() {
                *place = *last;
            }
            return;
        }
        place.copy_from_slice(near);
    }

    #[cold]
    fn make_room(&mut self) {
        self.bytes.resize(ROOM, 0);
        let from = self.end.saturating_sub(FAR);
        self.bytes.copy_within(from..self.end, 0);
        self.end -= from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept_however_they_come() {
        let text: Vec<u8> = (0..ROOM * 3).map(|i| (i % 251) as u8).collect();
        for piece in (1..20).chain([FAR - 1, FAR, FAR + 1, ROOM, ROOM + 1, text.len()]) {
            let mut recent = Recent::default();
            for (i, part) in text.chunks(piece).enumerate() {
                recent.push(part);
                let read = &text[..(i * piece + part.len())];
                assert_eq!(recent.bytes(), &read[read.len().saturating_sub(FAR)..], "pieces of {piece}");
            }
            recent.clear();
            assert!(recent.bytes().is_empty());
        }
    }
}
