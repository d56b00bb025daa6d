//! [`delegate`]: methods of an enum that call the same method of the value in it.

/// Implements each method by a call of the same method of the value that `$with` selects.
///
/// `$with!(self, value => value.method())` evaluates the expression with a reference to the value,
/// mutable if `self` is.
macro_rules! delegate {
    ($with:ident:) => {};
    ($with:ident:
        $(#[$meta:meta])*
        fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) $(-> $result:ty)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        fn $method(&self $(, $argument: $type)*) $(-> $result)? {
            $with!(self, value => value.$method($($argument),*))
        }
        delegate! { $with: $($rest)* }
    };
    ($with:ident:
        $(#[$meta:meta])*
        fn $method:ident $(<$parameter:ident: $bound:ident>)? (&mut self $(, $argument:ident: $type:ty)* $(,)?) $(-> $result:ty)?;
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        fn $method $(<$parameter: $bound>)? (&mut self $(, $argument: $type)*) $(-> $result)? {
            $with!(self, value => value.$method($($argument),*))
        }
        delegate! { $with: $($rest)* }
    };
}

pub(crate) use delegate;
