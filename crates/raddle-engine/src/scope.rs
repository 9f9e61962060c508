//! Named blocks of code, which count as calls in the [context](crate::context) of an op.

use std::marker::PhantomData;

use crate::context::Opened;
use crate::execution::{Execution, slow_path};

/// A name for the code that follows, up to the end of the block: `raddle::method!` makes one.
#[derive(Debug)]
pub struct Scope(&'static str);

impl Scope {
    /// Not yet entered.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Enters it, until what is returned is dropped. Outside an execution, and if contexts are not asked for,
    /// nothing happens.
    #[must_use]
    pub fn enter(&self) -> Entered<'_> {
        let ex = Execution::current();
        // SAFETY: the current execution, changed for a moment.
        unsafe {
            let open = !ex.is_null() && (*ex).slow_path & slow_path::CAPTURE_CONTEXT != 0;
            if open {
                let address = std::ptr::from_ref(self) as usize;
                (*(*ex).me).scopes.push(Opened { name: self.0, address });
            }
            Entered { open, scope: PhantomData }
        }
    }
}

/// A scope is entered as long as this lives.
#[derive(Debug)]
pub struct Entered<'a> {
    open: bool,
    scope: PhantomData<(&'a Scope, *const ())>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let ex = Execution::current();
        if self.open && !ex.is_null() {
            // SAFETY: the current execution, changed for a moment. It lives on the stack of the task that
            // entered, so that is the one which runs, and scopes are left in the order of the blocks.
            unsafe { (*(*ex).me).scopes.pop() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_outside_an_execution_is_nothing() {
        let scope = Scope::new("nobody");
        assert!(!scope.enter().open);
    }
}
