//! The buffer of characters of Java 1.4: to append another buffer asks for its length, then for its
//! characters, and takes its lock for each.

use raddle::sync::Mutex;
use raddle::thread;

use super::super::program;
use crate::libraries::Test;
use crate::program::{Expected, Program};

pub(super) const TEST: Test = Test {
    correct: of("stringbuffer", "one appends a buffer that another erases", || test(Flaw::None)),
    bugs: &[of("stringbuffer-append", "length and characters are asked for in turn", || {
        test(Flaw::TwoLooks);
    })
    .bug(Expected::Panic, "atomicity violation")],
};

const fn of(name: &'static str, line: &'static str, body: fn()) -> Program {
    program(name, line).source("SCTBench; Flanagan and Qadeer, PLDI 2003").plain(body)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Between the two the buffer may have become shorter.
    TwoLooks,
}

struct StringBuffer {
    text: Mutex<Vec<char>>,
    flaw: Flaw,
}

impl StringBuffer {
    fn new(flaw: Flaw, text: &str) -> Self {
        Self { text: Mutex::new(text.chars().collect()), flaw }
    }

    fn length(&self) -> usize {
        self.text.lock().unwrap().len()
    }

    fn characters(&self, n: usize) -> Vec<char> {
        self.text.lock().unwrap()[..n].to_vec()
    }

    fn append(&self, other: &Self) {
        let mut text = self.text.lock().unwrap();
        if self.flaw == Flaw::TwoLooks {
            let n = other.length();
            text.extend(other.characters(n));
        } else {
            text.extend(&*other.text.lock().unwrap());
        }
    }

    fn erase(&self, from: usize, to: usize) {
        self.text.lock().unwrap().drain(from..to);
    }
}

/// What is appended is what was there at one time.
fn test(flaw: Flaw) {
    let (buffer, other) = (StringBuffer::new(flaw, ""), StringBuffer::new(flaw, "abc"));
    thread::scope(|scope| {
        scope.spawn(|| {
            other.erase(0, 3);
            other.append(&StringBuffer::new(flaw, "abc"));
        });
        scope.spawn(|| buffer.append(&other));
    });
    assert!(matches!(buffer.length(), 0 | 3));
}
