//! Ops outside any execution: threads of the operating system that really block, under one monitor.

use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use crate::announce::{Announced, Double, Single};
use crate::model::Model;
use crate::object::{MONITOR, Object, refuse};
use crate::op::TaskId;

impl<M: Model> Object<M> {
    /// Looks at the model outside any execution.
    pub(crate) fn look_outside<T>(&self, look: impl FnOnce(&M) -> T) -> T {
        let _monitor = self.enter();
        look(self.model())
    }

    /// Changes the model outside any execution. Threads that wait for it look again.
    pub(crate) fn alter_outside<T>(&self, change: impl FnOnce(&mut M) -> T) -> T {
        let _monitor = self.enter();
        let value = change(self.model_mut());
        MONITOR.moved.notify_all();
        value
    }

    /// Does `op` outside any execution, or not before its timeout: `None`.
    pub(crate) fn outside(&self, op: M::Op, timeout: Option<Duration>) -> Option<M::Reply> {
        let me = outside_task();
        let single = Single { object: self, op: &op };
        let monitor = self.enter();
        let monitor = wait_outside(monitor, me, &single, &|| self.is_outside(), timeout)?;
        let reply = self.model_mut().apply(me, op, 0);
        drop(monitor);
        MONITOR.moved.notify_all();
        Some(reply)
    }
}

/// Waits until `op` can run, under the monitor. `None` if its timeout came first.
///
/// `ours` tells whether the objects are still used outside: if an execution has taken them over
/// while this thread waited, they must not be touched.
fn wait_outside(
    mut monitor: MutexGuard<'static, ()>,
    me: TaskId,
    op: &dyn Announced,
    ours: &dyn Fn() -> bool,
    timeout: Option<Duration>,
) -> Option<MutexGuard<'static, ()>> {
    if let Some(timeout) = timeout {
        let expirable = |(): &mut ()| ours() && op.may_expire(me);
        monitor = match MONITOR.moved.wait_timeout_while(monitor, timeout, expirable) {
            Ok((monitor, _)) => monitor,
            Err(poisoned) => poisoned.into_inner().0,
        };
        if ours() && op.may_expire(me) {
            op.expire(me);
            return None;
        }
    }
    let blocked = |(): &mut ()| ours() && !op.enabled(me);
    monitor = MONITOR.moved.wait_while(monitor, blocked).unwrap_or_else(PoisonError::into_inner);
    if !ours() {
        drop(monitor);
        refuse(Location::caller(), "an execution took it over while this thread waited for it");
    }
    Some(monitor)
}

/// Does one op on two objects outside any execution, or not before its timeout: `None`.
pub(crate) fn both_outside<A: Model, B: Model>(
    first: Single<'_, A>,
    second: Single<'_, B>,
    timeout: Option<Duration>,
) -> Option<(A::Reply, B::Reply)> {
    let me = outside_task();
    let (one, two) = (first.object, second.object);
    let (first_op, second_op) = (*first.op, *second.op);
    let double = Double { first, second };
    drop(one.enter());
    let monitor = two.enter();
    let ours = || one.is_outside() && two.is_outside();
    let monitor = wait_outside(monitor, me, &double, &ours, timeout)?;
    let replies = (one.model_mut().apply(me, first_op, 0), two.model_mut().apply(me, second_op, 0));
    drop(monitor);
    MONITOR.moved.notify_all();
    Some(replies)
}

/// The number of the calling OS thread among threads outside any execution.
fn outside_task() -> TaskId {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    thread_local! {
        static ME: TaskId = TaskId(u32::MAX - 1 - NEXT.fetch_add(1, Ordering::Relaxed));
    }
    ME.with(|me| *me)
}
