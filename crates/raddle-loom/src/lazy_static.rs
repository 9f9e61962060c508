//! `loom::lazy_static!`: statics that are made at their first use in each execution.
#![expect(unsafe_code, reason = "what is not Send is used by the threads of one execution")]

use std::fmt;

pub use std::thread::panicking;

use raddle::sync::OnceLock;
pub use raddle::thread::{AccessError, yield_now};

use crate::leaks;

struct Shared<T>(T);

// SAFETY: a static of an execution is used by coroutines of one OS thread, of which one runs at a time.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// A static that is made when it is first used, and dropped when the threads of the execution have ended.
pub struct Lazy<T: 'static> {
    init: fn() -> T,
    value: OnceLock<Shared<*const T>>,
}

impl<T: 'static> Lazy<T> {
    /// A static that `init` will make.
    #[must_use]
    #[track_caller]
    pub const fn new(init: fn() -> T) -> Self {
        Self { init, value: OnceLock::new() }
    }

    /// The value, made now if it has not been in this execution.
    ///
    /// # Panics
    /// In a destructor of another static: they are dropped then.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        leaks::check_statics();
        let value = self.value.get_or_init(|| Shared(leaks::keep_static((self.init)()))).0;
        // SAFETY: a value of an execution is dropped at its end, after which none is asked for there; one that was made outside
        // stays.
        unsafe { &*value }
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// Declares statics that are made at their first use: the macro of the crate `lazy_static`.
///
/// ```
/// raddle_loom::lazy_static! {
///     /// As many as there are.
///     pub static ref NAMES: Vec<&'static str> = vec!["a", "b"];
/// }
/// raddle_loom::model(|| assert_eq!(NAMES.len(), 2));
/// ```
#[macro_export]
macro_rules! lazy_static {
    ($($(#[$attribute:meta])* $vis:vis static ref $name:ident : $type:ty = $init:expr;)*) => {$(
        #[allow(non_camel_case_types, missing_copy_implementations, dead_code, reason = "as lazy_static has it")]
        $(#[$attribute])*
        $vis struct $name {
            __private_field: (),
        }

        #[doc(hidden)]
        $vis static $name: $name = $name { __private_field: () };

        impl ::core::ops::Deref for $name {
            type Target = $type;

            #[track_caller]
            fn deref(&self) -> &$type {
                fn init() -> $type {
                    $init
                }
                static LAZY: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy::new(init);
                LAZY.get()
            }
        }
    )*};
}
