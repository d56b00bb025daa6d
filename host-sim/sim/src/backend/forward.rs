//! [`forward_backend`](crate::forward_backend): methods that another backend carries out.

/// Methods of a [`Backend`](crate::backend::Backend), each a call of the same method of the backend
/// at this place: `forward_backend!(it => it.inner; fits, capacity);` in the `impl`, where `it` is
/// the receiver. Methods that are not named have to be written, or keep their default.
#[macro_export]
macro_rules! forward_backend {
    ($it:ident => $inner:expr; $($method:ident),+) => {
        $($crate::forward_backend!(@$method $it, $inner);)+
    };
    (@call $it:ident, $inner:expr) => {
        #[inline]
        fn call(
            &mut self,
            change: &::meshalloc::Change,
            now: ::meshalloc::Ticks,
            on_event: $crate::backend::OnEvent<'_>,
        ) -> $crate::backend::Called<::meshalloc::Outcome> {
            let $it = self;
            $inner.call(change, now, on_event)
        }
    };
    (@requeue $it:ident, $inner:expr) => {
        fn requeue(
            &mut self,
            jobs: &[::meshalloc::JobId],
            now: ::meshalloc::Ticks,
            on_event: $crate::backend::OnEvent<'_>,
        ) -> $crate::backend::Called<()> {
            let $it = self;
            $inner.requeue(jobs, now, on_event)
        }
    };
    (@fits $it:ident, $inner:expr) => {
        fn fits(&mut self, request: &::meshalloc::Request) -> bool {
            let $it = self;
            $inner.fits(request)
        }
    };
    (@requested $it:ident, $inner:expr) => {
        fn requested(&self, request: &::meshalloc::Request) -> u32 {
            let $it = self;
            $inner.requested(request)
        }
    };
    (@query $it:ident, $inner:expr) => {
        fn query(
            &mut self,
            query: &::meshalloc::Query,
        ) -> $crate::backend::Called<::meshalloc::Answer> {
            let $it = self;
            $inner.query(query)
        }
    };
    (@make_room $it:ident, $inner:expr) => {
        fn make_room(&mut self) -> bool {
            let $it = self;
            $inner.make_room()
        }
    };
    (@capacity $it:ident, $inner:expr) => {
        $crate::forward_backend!(@says capacity: ::meshalloc::message::Capacity, $it, $inner);
    };
    (@is_in_order $it:ident, $inner:expr) => {
        $crate::forward_backend!(@says is_in_order: bool, $it, $inner);
    };
    (@served $it:ident, $inner:expr) => {
        $crate::forward_backend!(@says served: Option<$crate::backend::Served>, $it, $inner);
    };
    (@latest_seconds $it:ident, $inner:expr) => {
        $crate::forward_backend!(@says latest_seconds: Option<f64>, $it, $inner);
    };
    (@says $method:ident: $answer:ty, $it:ident, $inner:expr) => {
        fn $method(&self) -> $answer {
            let $it = self;
            $inner.$method()
        }
    };
}
