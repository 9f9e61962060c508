//! As much of `corpus/src/program.rs` as the descriptions of programs need, without what only raddle has.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Pass,
    Panic,
    Deadlock,
    Livelock,
    DataRace,
}

impl Expected {
    /// shuttle has no detector of data races. A livelock is an execution that exceeds its number of steps.
    pub(crate) const fn is_seen_by_shuttle(self) -> bool {
        matches!(self, Self::Panic | Self::Deadlock | Self::Livelock)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Group {
    Bugs,
    Libraries,
    Applications,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    default: usize,
}

pub(crate) const fn parameter(_: &str, default: usize, _: usize, _: usize) -> Parameter {
    Parameter { default }
}

#[derive(Clone, Copy, Debug)]
enum Body {
    None,
    Plain(fn()),
    One(fn(usize)),
    Two(fn(usize, usize)),
    Many(fn(&[usize])),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) expected: Expected,
    pub(crate) large: &'static [usize],
    pub(crate) steps: Option<u64>,
    parameters: &'static [Parameter],
    body: Body,
}

impl Program {
    pub(crate) const fn new(name: &'static str, _: Group, _: &'static str) -> Self {
        let (expected, body) = (Expected::Pass, Body::None);
        Self { name, source: "", expected, large: &[], steps: None, parameters: &[], body }
    }

    pub(crate) const fn source(self, source: &'static str) -> Self {
        Self { source, ..self }
    }

    pub(crate) const fn plain(self, body: fn()) -> Self {
        Self { body: Body::Plain(body), ..self }
    }

    pub(crate) const fn one(self, body: fn(usize), parameters: &'static [Parameter]) -> Self {
        Self { body: Body::One(body), parameters, ..self }
    }

    pub(crate) const fn two(
        self,
        body: fn(usize, usize),
        parameters: &'static [Parameter],
    ) -> Self {
        Self { body: Body::Two(body), parameters, ..self }
    }

    pub(crate) const fn many(self, body: fn(&[usize]), parameters: &'static [Parameter]) -> Self {
        Self { body: Body::Many(body), parameters, ..self }
    }

    pub(crate) const fn fails(self, expected: Expected, _: fn(&[usize]) -> u32) -> Self {
        Self { expected, ..self }
    }

    pub(crate) const fn bug(self, expected: Expected, _: &'static str) -> Self {
        Self { expected, ..self }
    }

    pub(crate) const fn large(self, large: &'static [usize]) -> Self {
        Self { large, ..self }
    }

    pub(crate) const fn interleavings(self, _: fn(&[usize]) -> Option<u64>) -> Self {
        self
    }

    pub(crate) const fn traces(self, _: fn(&[usize]) -> Option<u64>) -> Self {
        self
    }

    pub(crate) const fn steps(self, steps: u64) -> Self {
        Self { steps: Some(steps), ..self }
    }

    /// Runs it once, inside an execution of shuttle.
    pub(crate) fn call(&self) {
        let given: Vec<_> = self.parameters.iter().map(|parameter| parameter.default).collect();
        match (self.body, &*given) {
            (Body::Plain(body), []) => body(),
            (Body::One(body), &[a]) => body(a),
            (Body::Two(body), &[a, b]) => body(a, b),
            (Body::Many(body), all) => body(all),
            _ => unreachable!("{} has as many parameters as its function", self.name),
        }
    }
}
