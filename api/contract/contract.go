// Package contract has what services, operator and clients must agree on: the types of the
// contract, its limits, the reasons of its refusals and the names of its events. It imports
// nothing but the standard library. Documents and generated files that repeat something of it
// are compared with it by its tests.
package contract
