/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* python_frames.h: the lines of Python that a stack was called from.
 *
 * what      Of a program that CPython 3.11 to 3.14 runs, the frames of the interpreter are put between the return
 *           addresses of a stack, innermost first.
 *
 *               malloc <- list_resize <- _PyEval_EvalFrameDefault <- ... <- _PyEval_EvalFrameDefault <- ... <- main
 *                                         |                                  |
 *                                        inner() line 3, outer() line 7     <module> line 9
 *
 *           A call of the interpreter's loop runs one or more functions of Python, and has a record in its C frame. If
 *           there are as many return addresses into the loop as records, these belong to each other in their order.
 *           Else (a part of the loop was moved away by the compiler, a stack is cut off) a call is found by the stack:
 *           the record lies in the loop's frame, between the places where the unwinder found that frame and the one
 *           outside. Of a stack by frame pointers these are unknown, and the return addresses are looked for. Lines
 *           that no frame was found for, as where the stack is the call site alone, stand behind all others.
 *
 *           The calling thread asks for its own state (PyGILState_GetThisThreadState), so the frames are its own. These
 *           are alive, with what they refer to, while it runs, with the interpreter's lock or without. What is not so
 *           (an interpreter that ends, a signal in the middle of a change, another build) is found by checks: the
 *           kernel is asked whether a page can be read, an object has the type that it should have, and all numbers
 *           have bounds.
 * owner     g_python.
 * locks     None while the interpreter's memory is read. Those of profile_places.h.
 * failure   No frames of the interpreter: another version, a build without the lock, an interpreter that was loaded
 *           after the start, in a sandbox. Of a subinterpreter the frames that called it.
 */
#ifndef HAK_RECORD_PYTHON_FRAMES_H
#define HAK_RECORD_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Addresses in the process, of names that the interpreter exports. */
struct hak_python {
  uint64_t state;     /* PyGILState_GetThisThreadState; 0: no interpreter */
  uint64_t code_type; /* PyCode_Type */
  uint64_t text_type; /* PyUnicode_Type */
  uint64_t version;   /* the number in Py_Version */
  uint64_t loop, loop_end; /* _PyEval_EvalFrameDefault; 0, 0: unknown */
};

/* Looks for an interpreter. Do not call inside malloc. */
void hak_python_prepare(void);

/* Takes the interpreter that another process found in this one (observe/asked.h), in code that stays loaded. Without
 * effect after a hak_python_prepare that found one. */
void hak_python_take(const struct hak_python *found);

/* True: hak_python_mix may find frames. */
bool hak_python_is_known(void);

/* Puts frames of the interpreter between frames[0 .. depth), of `most`; returns the new depth. frames[0] stays. The
 * array lies on the stack, below the frame that returns to frames[0]. sp: where that frame begins, and the frames have
 * sizes in their upper bits (unwind.h), which are taken away; 0: they have none. Lock: none held. */
unsigned hak_python_mix(uint64_t *frames, unsigned depth, unsigned most, uintptr_t sp);

/* Clears the array: what stays of it on the stack would look like return addresses. */
void hak_python_forget(uint64_t *frames, unsigned depth);

#endif
