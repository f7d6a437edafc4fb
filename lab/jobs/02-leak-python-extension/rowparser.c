/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rowparser.c: splits a line at commas; a line with a quote loses its copy. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_BYTES = 1024 };

static long g_lost;

__attribute__((noinline)) static char *copy_field(const char *text, Py_ssize_t length) {
  char *copy = malloc(FIELD_BYTES);
  if (copy == NULL) return NULL;
  memset(copy, 0, FIELD_BYTES);
  return memcpy(copy, text, length < FIELD_BYTES ? (size_t)length : FIELD_BYTES - 1);
}

static PyObject *parse(PyObject *self, PyObject *arguments) {
  const char *text;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(arguments, "s#", &text, &length)) return NULL;
  char *copy = copy_field(text, length);
  if (copy == NULL) return PyErr_NoMemory();
  PyObject *line = PyUnicode_FromString(copy), *comma = PyUnicode_FromString(",");
  PyObject *fields = PyUnicode_Split(line, comma, -1);
  Py_DECREF(line), Py_DECREF(comma);
  if (memchr(text, '"', (size_t)length) == NULL) free(copy); /* the leak: the copy of a quoted line */
  else g_lost++;
  (void)self;
  return fields;
}

static PyObject *lost(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return PyLong_FromLong(g_lost * FIELD_BYTES);
}

static PyMethodDef methods[] = {{"parse", parse, METH_VARARGS, ""}, {"lost", lost, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "rowparser", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_rowparser(void) {
  return PyModule_Create(&module);
}
