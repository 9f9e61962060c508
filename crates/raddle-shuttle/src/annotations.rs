//! `shuttle::annotations`: names for objects, which shuttle writes to annotated schedules.

use crate::future::batch_semaphore::BatchSemaphore;
use crate::sync::Mutex;

/// Names an object. Here names of this kind are not kept: `raddle::Named` gives those that reports have.
pub trait WithName {
    /// With a name and a type.
    #[must_use]
    fn with_name_and_kind(self, name: Option<&str>, kind: Option<&str>) -> Self;

    /// With a name.
    #[must_use]
    fn with_name(self, name: &str) -> Self
    where
        Self: Sized,
    {
        self.with_name_and_kind(Some(name), None)
    }

    /// With a type.
    #[must_use]
    fn with_kind(self, kind: &str) -> Self
    where
        Self: Sized,
    {
        self.with_name_and_kind(None, Some(kind))
    }
}

macro_rules! with_name {
    ($(($($t:ident)?) $object:ty;)*) => {$(
        impl$(<$t>)? WithName for $object {
            fn with_name_and_kind(self, _: Option<&str>, _: Option<&str>) -> Self {
                self
            }
        }
    )*};
}

with_name! {
    () BatchSemaphore;
    () &BatchSemaphore;
    (T) Mutex<T>;
    (T) &Mutex<T>;
}
