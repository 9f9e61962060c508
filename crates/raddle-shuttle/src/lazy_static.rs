//! `shuttle::lazy_static!`: statics that are made at their first use in each execution.

use std::fmt;

use raddle::sync::LazyLock;

pub use crate::lazy_static;

/// A static that is made when it is first used.
pub struct Lazy<T: Sync + 'static>(LazyLock<T>);

impl<T: Sync> Lazy<T> {
    /// A static that `init` will make.
    #[track_caller]
    pub const fn new(init: fn() -> T) -> Self {
        Self(LazyLock::new(init))
    }

    /// The value, made now if it has not been in this execution.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        LazyLock::force(&self.0)
    }
}

impl<T: Sync> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// A static of [`lazy_static!`](macro@crate::lazy_static).
pub trait LazyStatic {
    /// Makes it.
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes a static now, if it has not been made.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}

/// Declares statics that are made at their first use: the macro of the crate `lazy_static`.
///
/// ```
/// raddle_shuttle::lazy_static! {
///     /// As many as there are.
///     pub static ref NAMES: Vec<&'static str> = vec!["a", "b"];
/// }
/// raddle_shuttle::check_dfs(|| assert_eq!(NAMES.len(), 2), None);
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

        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                let _ = &**lazy;
            }
        }
    )*};
}
