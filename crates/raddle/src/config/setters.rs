//! A method for each field, so that a configuration is one expression.

use super::{
    Config, Data, Duration, Expect, Isolation, Pairs, ProgressListener, Receives, ShowProgress,
    Teardown, Timeouts, Tree,
};

/// One method. What may be left out is given without `Some`: a default leaves it out.
macro_rules! setter {
    ($name:ident String) => {
        setter! { $name: impl Into<String> => $name.into() }
    };
    ($name:ident Option String) => {
        setter! { $name: impl Into<String> => Some($name.into()) }
    };
    ($name:ident Option $of:ident) => {
        setter! { $name: $of => Some($name) }
    };
    ($name:ident $ty:ident) => {
        setter! { $name: $ty => $name }
    };
    ($name:ident: $ty:ty => $value:expr) => {
        #[doc = concat!("Sets [`", stringify!($name), "`](field@Self::", stringify!($name), ").")]
        #[must_use]
        pub fn $name(mut self, $name: $ty) -> Self {
            self.$name = $value;
            self
        }
    };
}

macro_rules! setters {
    (config { $(
        $(#[$doc:meta])*
        $name:ident: $ty:ident $(<$of:ident>)? { $($entry:tt)* }
    )* } $($driver:tt)*) => {
        /// # Setters
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// let config = raddle::Config::default().strategy("pct(3)").time(Duration::from_secs(10)).seed(7);
        /// assert_eq!(config.time, Some(Duration::from_secs(10)));
        /// ```
        impl Config {
            $(setter! { $name $ty $($of)? })*
            setter! { test Option String }
            setter! { observer Option ProgressListener }
            setter! { tree Option Tree }
        }
    };
}

raddle_knobs::with_knobs! { setters }
