//! The blocks that jobs hold: one in most cases, which stands in the job's record.

use meshalloc::Block;

#[derive(Clone, Copy, Debug)]
pub(super) enum Held {
    Nothing,
    One(Block),
    /// The list of this number.
    Many(u32),
}

/// The lists of the jobs that hold several blocks, used again: few jobs allocate memory.
#[derive(Debug, Default)]
pub(super) struct Lists {
    lists: Vec<Vec<Block>>,
    unused: Vec<u32>,
}

impl Lists {
    /// Adds blocks to those of a job.
    #[inline]
    pub(super) fn add(&mut self, held: &mut Held, blocks: &[Block]) {
        match (*held, blocks) {
            (Held::Nothing, &[block]) => *held = Held::One(block),
            (Held::Many(list), _) => self.lists[list as usize].extend_from_slice(blocks),
            (Held::Nothing | Held::One(_), _) => {
                let list = self.unused.pop().unwrap_or_else(|| {
                    self.lists.push(Vec::new());
                    (self.lists.len() - 1) as u32
                });
                let many = &mut self.lists[list as usize];
                if let Held::One(block) = *held {
                    many.push(block);
                }
                many.extend_from_slice(blocks);
                *held = Held::Many(list);
            }
        }
    }

    #[inline]
    pub(super) fn get<'h>(&'h self, held: &'h Held) -> &'h [Block] {
        match held {
            Held::Nothing => &[],
            Held::One(block) => std::slice::from_ref(block),
            Held::Many(list) => &self.lists[*list as usize],
        }
    }

    /// A job has left, and what it held is not asked for again.
    #[inline]
    pub(super) fn remove(&mut self, held: Held) {
        if let Held::Many(list) = held {
            self.lists[list as usize].clear();
            self.unused.push(list);
        }
    }
}
